package show

import "io"

// mostParcel is how many bytes of packets are written at once.
const mostParcel = 400_000

// A parcel holds packets until there are enough of them to be written.
type parcel struct {
	w       io.Writer
	packets message // those that wait
}

// send writes the packets that wait.
func (p *parcel) send() error {
	_, err := p.w.Write(p.packets)
	return err
}
