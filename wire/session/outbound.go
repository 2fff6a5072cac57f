package session

import (
	"metasim/metasim"
	"metasim/wire"
)

// How much may wait to be written, and for how long.
//
// A client that is authorized far ahead reports at each instant at which it acts, and often no other client waits for these
// reports. So a report may be kept: until the client itself waits, until its next event lies beyond what another client is
// known to wait for, or for KeepFor. This decides when other clients get a report. It changes no result.
const (
	KeepFor     = 100_000 // nanoseconds of real time
	keepPackets = 512
	keepBytes   = 32 << 10 // of payloads
)

// How much a client may publish before it is written, wherever the client is: a handler that publishes without end never returns
// to its next report.
const (
	fullPackets = 4 << 10
	fullBytes   = 1 << 20 // of payloads
)

// The chunks for copies of payloads: copies that a reader keeps must keep little else, the others are used again.
const (
	sharedChunk = 4 << 10
	ownChunk    = 256 << 10
)

// Helps reports whether a report may help a client that waits: its next event lies beyond quiet, the hint of the last
// authorization. If not, the report may be kept.
func Helps(next, quiet metasim.Instant) bool { return quiet.Before(next) }

// Merge returns the report that stands for two which follow each other: the later one says all that the earlier one said,
// and the times that were computed add up.
func Merge(earlier, later metasim.Report) metasim.Report {
	later.Computed += earlier.Computed
	later.CPU += earlier.CPU
	later.CoreWait += earlier.CoreWait
	return later
}

// Packets returns what is to be written, in one write. It is valid until Written.
func (o *Outbound) Packets() []wire.Packet { return o.packets }

// Urgent reports whether everything must be written now: another client may wait for it, or it is much.
func (o *Outbound) Urgent() bool {
	return o.urgent || len(o.packets) >= keepPackets || o.size >= keepBytes
}

// Full reports whether so much waits to be written that a Publish is not to add more.
func (o *Outbound) Full() bool { return len(o.packets) >= fullPackets || o.size >= fullBytes }

// Keep notes that what is there, and is not urgent, waits from now on; now is in nanoseconds of any clock that goes on
// steadily. Only the first call after Written counts: Keeping tells whether there was one.
func (o *Outbound) Keep(now int64) {
	if !o.kept {
		o.kept, o.since = true, now
	}
}

// Keeping reports whether something waits for its time to be written.
func (o *Outbound) Keeping() bool { return o.kept }

// Left returns for how long, in nanoseconds, what is kept may still wait at now. It must be written at 0 or less.
func (o *Outbound) Left(now int64) int64 { return o.since + KeepFor - now }

// Written forgets what has been written.
func (o *Outbound) Written() {
	clear(o.packets)
	o.packets, o.size = o.packets[:0], 0
	o.urgent, o.kept = false, false
	o.sends.Reclaim()
	o.reports.Reclaim()
	if o.Encoded {
		o.copies.Reclaim()
	}
}

// copy returns a copy of a payload that is valid for as long as the packet needs it.
func (o *Outbound) copy(payload []byte) []byte {
	if o.Encoded {
		return o.copies.Copy(payload, ownChunk)
	}
	return o.copies.Copy(payload, sharedChunk)
}

func (o *Outbound) put(body wire.Body) {
	o.packets = append(o.packets, wire.Packet{Member: o.Member, Body: body})
}

func (o *Outbound) send(channel string, sent metasim.Instant, payload []byte) {
	s := o.sends.Lend()
	s.Channel, s.Sent, s.Payload = channel, sent, payload
	o.size += len(payload)
	o.put(s)
}

// advance puts a report of a client that goes on. It takes the place of such a report that nothing has followed.
func (o *Outbound) advance(r metasim.Report) {
	if n := len(o.packets); n > 0 {
		if last, ok := o.packets[n-1].Body.(*metasim.Advance); ok {
			last.Report = Merge(last.Report, r)
			return
		}
	}
	a := o.reports.Lend()
	a.Report = r
	o.put(a)
}

// ask puts the report of a client that waits, and returns it to be set. The answer comes before the next one, so there is
// never more than one.
func (o *Outbound) ask() *metasim.PollWait {
	o.put(&o.poll)
	o.urgent = true
	return &o.poll
}
