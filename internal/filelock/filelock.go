// Package filelock keeps a second process from writing what one process writes.
package filelock
