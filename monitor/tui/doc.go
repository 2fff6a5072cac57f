// Package tui shows a run on a terminal while it goes on: a row for each client, the one that most others wait for first, and keys that
// pause it, step it and end it. It shows the views of a monitor.Monitor, as the page does. Only this package uses bubbletea.
//
//	model.go    keys, views and sizes in; lines out
//	past.go     who held up the others before; what the keys do
//	screen.go   what is drawn: the headline, why a client waits, the table of clients
package tui
