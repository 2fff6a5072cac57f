package main

import "os"

// ballast is memory that nobody touches, so that the system gives no page of it: see collectLess.
var ballast []byte

const ballastSize = 16 << 20

// collectLess has the collector wait until the garbage of this process has the size of the ballast, at least, where GOGC and GOMEMLIMIT do not say otherwise. A server, a
// model or a world holds a megabyte or two, and makes as much garbage in a few steps. By default it is collected a hundred times a second then, and all others wait for it. A
// higher GOGC would do that too, but lets a process that holds a gigabyte gather several.
func collectLess() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		ballast = make([]byte, ballastSize)
	}
}
