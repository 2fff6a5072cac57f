//go:build unix

package authority

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/delay"
	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/all"
	"metasim/wire/transport/mem"
)

// BenchmarkTransfers says how many transfers of case 3, a handover and its acknowledgement, two simulation servers do in a second of wall-clock time, and how much processor
// time one takes: each hands over 500 entities a step, through the dispatcher, over a delay of one step. With sealed each handover and each acknowledgement is signed and
// encrypted, so many of one step together: a live server takes what waits for the same receiver, up to 32.
func BenchmarkTransfers(b *testing.B) {
	for _, scheme := range []string{"mem", "unix"} {
		for _, sealed := range []int{0, 1, 2, 5, 32} {
			b.Run(fmt.Sprintf("%s/sealed=%d", scheme, sealed), func(b *testing.B) { transfers(b, scheme, sealed) })
		}
	}
}

const (
	passed = 500 // entities that each server hands over in a step
	ms     = metasim.Millisecond
)

func transfers(b *testing.B, scheme string, sealed int) {
	table, err := delay.NewTable(1, []delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(ms)}}})
	require.NoError(b, err)
	core := metasim.Config{Delays: table, Until: metasim.Time(b.N/(2*passed)+2) * ms, Clients: []string{"a", "b"}}
	srv, err := server.New(server.Config{Core: core, Scenario: "transfers", Seed: 1})
	require.NoError(b, err)
	inside := mem.NewNet()
	var l wire.Listener = inside
	dial := inside.Dial
	if scheme != "mem" {
		sockets, err := all.Table().Listen(scheme, "")
		require.NoError(b, err)
		l, dial = sockets, func(ctx context.Context) (wire.Conn, error) { return all.Table().Dial(ctx, sockets.URL()) }
	}
	keys := map[string]seal.PrivateKey{}
	for _, name := range []string{"a-sig", "a-enc", "b-sig", "b-enc"} {
		k, err := seal.NewPrivateKey(name[2:])
		require.NoError(b, err)
		k.Owner = name[:1]
		keys[name] = k
	}
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	var clients sync.WaitGroup
	errs := make([]error, 4)
	before, start := processorTime(b), time.Now()
	clients.Go(func() { errs[0] = srv.Accept(l) })
	done := make([]int, 2)
	for i, name := range []string{"a", "b"} {
		clients.Go(func() {
			p := passer{name: name, other: []string{"b", "a"}[i], sealed: sealed}
			errs[i+1] = p.run(ctx, dial, keys)
			done[i] = p.acknowledged
		})
	}
	errs[3] = srv.Serve(ctx)
	clients.Wait()
	require.NoError(b, errors.Join(errs...))
	took, used := time.Since(start), processorTime(b)-before
	total := float64(done[0] + done[1])
	b.ReportMetric(total/took.Seconds(), "transfers/s")
	b.ReportMetric(float64(used.Microseconds())/total, "processor-µs/transfer")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A passer owns entities, and hands each over to the other server as soon as it has it.
type passer struct {
	name, other  string
	sealed       int // so many messages together; 0: none is
	acknowledged int
	sealer       *seal.Sealer
	opener       *seal.Opener
	sim          *transfer.Simserver
	out          *client.Publication
}

func (p *passer) run(ctx context.Context, dial func(context.Context) (wire.Conn, error), keys map[string]seal.PrivateKey) error {
	b := client.NewBuilder(p.name)
	p.out = b.Publication(p.other + "/in")
	if err := b.Subscribe(p.name+"/in", nil); err != nil {
		return err
	}
	conn, err := dial(ctx)
	if err != nil {
		return err
	}
	c, err := b.Complete(ctx, client.WithConn(conn))
	if err != nil {
		return err
	}
	if err := p.keys(keys); err != nil {
		return err
	}
	p.sim = transfer.NewSimserver(transfer.SimConfig{Name: p.name, Step: ms})
	var first []transfer.Envelope
	for i := range passed {
		entity := fmt.Sprint(p.name, i)
		p.sim.Own(entity)
		more, err := p.sim.Give(0, entity, p.other)
		if err != nil {
			return err
		}
		first = append(first, more...)
	}
	if err := p.publish(c.Now(), first); err != nil {
		return err
	}
	for {
		messages, err := c.Next(ctx, metasim.Forever)
		if errors.Is(err, client.ErrEnd) {
			return c.Leave(ctx)
		}
		var out []transfer.Envelope
		for i := range messages {
			if err == nil {
				out, err = p.open(c.Now(), messages[i].Payload, out)
			}
		}
		if err == nil {
			err = p.publish(c.Now(), out)
		}
		if err != nil {
			return errors.Join(err, c.Fail(err))
		}
	}
}

func (p *passer) keys(keys map[string]seal.PrivateKey) (err error) {
	there := seal.Link{Instance: "bench", Sender: p.name, Recipient: p.other, Channel: p.other + "/in"}
	back := seal.Link{Instance: "bench", Sender: p.other, Recipient: p.name, Channel: p.name + "/in"}
	p.sealer, err = seal.NewSealer(there, keys[p.name+"-sig"], keys[p.other+"-enc"].PublicKey)
	p.opener = seal.NewOpener(back, keys[p.name+"-enc"], func(string) (seal.PublicKey, bool) { return keys[p.other+"-sig"].PublicKey, true }, seal.Limits{})
	return err
}

// open adds what is to be said to a payload.
func (p *passer) open(now metasim.Instant, payload []byte, out []transfer.Envelope) ([]transfer.Envelope, error) {
	if p.sealed == 0 {
		return p.take(now, payload, out)
	}
	all, err := p.opener.OpenAll(now.Time, payload)
	for i := range all {
		if err == nil {
			out, err = p.take(now, all[i].Payload, out)
		}
	}
	return out, err
}

func (p *passer) take(now metasim.Instant, payload []byte, out []transfer.Envelope) ([]transfer.Envelope, error) {
	m, err := transfer.Decode(payload)
	if err != nil {
		return nil, err
	}
	if m.Kind == transfer.Ack {
		p.acknowledged++
	}
	more, err := p.sim.Receive(now, p.other, m)
	out = append(out, more...)
	if err == nil && m.Kind == transfer.Handover {
		more, err = p.sim.Give(now.Time, m.Entity, p.other)
		out = append(out, more...)
	}
	return out, err
}

func (p *passer) publish(now metasim.Instant, out []transfer.Envelope) error {
	payloads := make([][]byte, len(out))
	for i := range out {
		var err error
		if payloads[i], err = transfer.Encode(&out[i].Message); err != nil {
			return err
		}
	}
	if p.sealed > 0 {
		var sealed [][]byte
		for together := range slices.Chunk(payloads, p.sealed) {
			more, err := p.sealer.SealAll(now, together)
			if err != nil {
				return err
			}
			sealed = append(sealed, more...)
		}
		payloads = sealed
	}
	for _, b := range payloads {
		if err := p.out.PublishOwned(b); err != nil {
			return err
		}
	}
	return nil
}
