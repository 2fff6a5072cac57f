package journal

import "metasim/metasim"

// Speaker returns the client whose event it is. A Begin, a Permit and nil are nobody's.
func Speaker(ev metasim.Event) (id metasim.ClientID, ok bool) {
	switch ev := ev.(type) {
	case *metasim.Join:
		return ev.Client, true
	case *metasim.Send:
		return ev.Client, true
	case *metasim.Promise:
		return ev.Client, true
	case *metasim.Advance:
		return ev.Client, true
	case *metasim.PollWait:
		return ev.Client, true
	case *metasim.Leave:
		return ev.Client, true
	}
	return 0, false
}
