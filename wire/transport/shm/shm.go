package shm

import "metasim/wire/transport"

// Transport is the transport of "shm:///path", where only this user may connect. Its fallback is unix.
func Transport() transport.Transport {
	return transport.Transport{Scheme: "shm", Private: true, Fallback: "unix", Listen: listenURL, Dial: dialURL}
}
