// Package tui shows a run on a terminal while it goes on: a row for each client, the most blamed first, and keys to pause
// it, step it and end it. It shows what a live.Monitor sees, as the page does.
package tui
