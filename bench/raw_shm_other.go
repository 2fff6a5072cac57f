//go:build !linux

package bench

// sharedMemory is nil: this system does not have the transport shm.
var sharedMemory *rawTransport
