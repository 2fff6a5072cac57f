package wire_test

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"testing"

	"metasim/metasim"
	"metasim/wire"
)

// The bodies that a running simulation is made of, as a busy run fills them some time after its start.
func hotBodies(after metasim.Time) map[string]wire.Body {
	at := func(t metasim.Time) metasim.Instant { return metasim.At(t + after) }
	report := metasim.Report{Now: at(5 * ms), NoSendBefore: at(6 * ms), NextEvent: metasim.Infinity, Acked: 700}
	return map[string]wire.Body{
		"Send":      &metasim.Send{Channel: "ROBOT_STATE", Sent: at(5 * ms), Payload: make([]byte, 64)},
		"Promise":   &metasim.Promise{NoSendBefore: at(6 * ms)},
		"Advance":   &metasim.Advance{Report: report},
		"PollWait":  &metasim.PollWait{Report: report, Want: at(8 * ms), Messages: true},
		"Leave":     &metasim.Leave{Now: at(5 * ms), Acked: 700},
		"Authorize": &metasim.Authorize{Until: at(7 * ms)},
		"Deliver": &metasim.Deliver{Number: 700, Message: metasim.Message{
			From: 3, Seq: 9, Channel: "ROBOT_STATE", Sent: at(5 * ms), Due: at(6 * ms),
			Payload: make([]byte, 64),
		}},
	}
}

// passes are what the benchmarks encode and decode: 64 packets of each body, of all in turn, and of members in step.
func passes() map[string][]wire.Packet {
	all := make(map[string][]wire.Packet)
	names := slices.Sorted(maps.Keys(hotBodies(0)))
	for i := range uint32(64) {
		hot := hotBodies(metasim.Time(i))
		for _, name := range names {
			all[name] = append(all[name], wire.Packet{Member: i, Body: hot[name]})
		}
		all["InStep"] = append(all["InStep"], wire.Packet{Member: i, Body: &metasim.Authorize{Until: metasim.At(7 * ms)}})
		all["Mixed"] = append(all["Mixed"], wire.Packet{Member: i, Body: hot[names[int(i)%len(names)]]})
	}
	return all
}

func perPacket(b *testing.B, run func(b *testing.B, pass []wire.Packet)) {
	all := passes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			run(b, all[name])
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all[name])), "ns/packet")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	perPacket(b, func(b *testing.B, pass []wire.Packet) {
		var encoder wire.Encoder
		for b.Loop() {
			if _, err := encoder.Frames(pass); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	perPacket(b, func(b *testing.B, pass []wire.Packet) {
		var encoder wire.Encoder
		frame, err := encoder.Frames(pass)
		if err != nil {
			b.Fatal(err)
		}
		var decoder wire.Decoder
		for b.Loop() {
			if _, err := decoder.Packets(frame[4:]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRead takes frames off a stream: of 64 mixed packets, and of one large payload.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name string
		pass []wire.Packet
	}{
		{"Mixed", passes()["Mixed"]},
		{"1MiB", []wire.Packet{{Body: &metasim.Send{Channel: "CAMERA", Payload: make([]byte, 1<<20)}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var encoder wire.Encoder
			frame, err := encoder.Frames(c.pass)
			if err != nil {
				b.Fatal(err)
			}
			reader := wire.NewReader(&endless{frame: frame}, "bench")
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reader.Read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// endless is a stream that says the same frame again and again.
type endless struct {
	frame []byte
	rest  bytes.Reader
}

func (e *endless) Read(b []byte) (int, error) {
	n, err := e.rest.Read(b)
	if err == io.EOF {
		e.rest.Reset(e.frame)
		n, err = e.rest.Read(b)
	}
	return n, err
}
