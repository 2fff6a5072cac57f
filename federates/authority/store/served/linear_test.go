package served_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/store"
	"metasim/federates/authority/store/served"
	"metasim/federates/authority/store/storetest"
	"metasim/metasim"
)

var seeds = flag.Int("seeds", 30, "how many worlds TestLinearizable tries")

const (
	worldTime = 8 * time.Second
	lease     = time.Second
	resend    = 50 * time.Millisecond
)

// A world is a store and the members that reach it by messages, in the simulated time of a test.
type world struct {
	began time.Time
	load  *storetest.Load
	seed  uint64
	sends sync.WaitGroup // what is on its way

	mu     sync.Mutex
	server *served.Server
	cut    map[string]time.Time // until when messages of a member reach nobody
	kill   map[string]func()    // ends the life of a member
	doomed map[string]bool      // who dies in its next write

	deaths, midWrite, cuts int
}

func (w *world) now() metasim.Instant { return metasim.At(metasim.Time(time.Since(w.began))) }

// send carries a question to the store, and its answer back, unless they are lost.
func (w *world) send(draw *rand.Rand, from string, question []byte, answers chan<- []byte) {
	there, back := time.Duration(draw.Int64N(int64(20*time.Millisecond)))+1, time.Duration(draw.Int64N(int64(20*time.Millisecond)))+1
	lostThere, lostBack := draw.IntN(10) < 2, draw.IntN(10) < 2
	w.sends.Go(func() {
		<-time.After(there)
		answer := w.answer(from, question, lostThere)
		<-time.After(back)
		if answer != nil && !lostBack && !w.isCut(from) {
			answers <- answer
		}
	})
}

func (w *world) answer(from string, question []byte, lost bool) []byte {
	if lost || w.isCut(from) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	answer, err := w.server.Receive(w.now(), from, question)
	if err != nil {
		panic(err)
	}
	return answer
}

func (w *world) isCut(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.cut[name])
}

// dies reports whether a member dies in this write.
func (w *world) dies(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	dies := w.doomed[name]
	delete(w.doomed, name)
	return dies
}

func (w *world) diedIn(write bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if write && time.Since(w.began) < worldTime {
		w.midWrite++
	}
}

// killer returns what ends the life of a member.
func (w *world) killer(name string) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := w.kill[name]
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.deaths++
		end()
	}
}

// ask is how a member asks in one of its lives. answers outlive that: what is late comes to a later question, or life.
func (w *world) ask(life context.Context, draw *rand.Rand, name string, answers chan []byte) served.Ask {
	return func(_ context.Context, question []byte, take func([]byte) bool) error {
		writes := bytes.Contains(question, []byte(`"do":"do"`))
		if writes && w.dies(name) {
			end := time.AfterFunc(time.Duration(draw.Int64N(int64(40*time.Millisecond))), w.killer(name))
			defer end.Stop() // the answer was first
		}
		for {
			for range 1 + draw.IntN(5)/4 { // one of five is doubled
				w.send(draw, name, question, answers)
			}
			for again := time.After(resend); again != nil; {
				select {
				case a := <-answers:
					if take(a) {
						return nil
					}
				case <-again:
					again = nil
				case <-life.Done():
					w.diedIn(writes)
					return life.Err()
				}
			}
		}
	}
}

// member lives, dies and lives again until the world ends.
func (w *world) member(ends context.Context, id int) {
	name := fmt.Sprint("member-", id)
	draw, client := rand.New(rand.NewPCG(w.seed, uint64(100+id))), w.load.Client(w.seed, id, id == 2)
	answers := make(chan []byte, 10_000)
	for ends.Err() == nil {
		life, end := context.WithCancel(ends)
		w.mu.Lock()
		w.kill[name] = end
		w.mu.Unlock()
		kv := served.Open(w.now(), w.ask(life, draw, name, answers))
		s, err := store.Open(life, kv, w.config(name))
		for stepped := (time.Time{}); err == nil && life.Err() == nil; {
			if time.Since(stepped) > lease/4 {
				stepped = time.Now()
				if err = kv.Renew(life); err == nil {
					_, err = s.Step(life)
				}
				continue
			}
			client.Act(s)
			<-time.After(time.Duration(draw.Int64N(int64(20 * time.Millisecond))))
		}
		end()
		<-time.After(time.Duration(draw.Int64N(int64(3*lease/2))) + 1)
	}
}

func (w *world) config(name string) store.Config {
	return store.Config{
		Instance: "x", Kind: "homeserver", Name: name, Every: 20, Lease: lease, Timeout: time.Hour, Stepped: true, Log: slog.New(slog.DiscardHandler),
		Draw: func() string { return fmt.Sprint(name, "@", time.Since(w.began).Nanoseconds()) },
	}
}

// disturb kills the member that leads, or another one, or cuts one off, again and again.
func (w *world) disturb(ends context.Context, members int) {
	draw := rand.New(rand.NewPCG(w.seed, 99))
	for round := int64(1); ; round++ {
		select {
		case <-ends.Done():
			return
		case <-time.After(100*time.Millisecond + time.Duration(draw.Int64N(int64(900*time.Millisecond)))):
		}
		w.load.Round.Store(round)
		w.mu.Lock()
		victim := fmt.Sprint("member-", draw.IntN(members))
		if n := len(w.server.Holds); n > 0 && draw.IntN(3) > 0 {
			victim = w.server.Holds[n-1].Member
		}
		kill := w.kill[victim]
		switch draw.IntN(4) {
		case 0:
			w.cut[victim] = time.Now().Add(time.Duration(draw.Int64N(int64(3 * lease / 2))))
			w.cuts++
		case 1:
			kill()
			w.deaths++
		default:
			w.doomed[victim] = true
		}
		w.mu.Unlock()
	}
}

// Members of a simulated store read and write. Their links lose two of ten messages, double one of five, and change their order. The leader dies, sometimes in the middle of a write. Members
// lose their connection for a while. At the end each acknowledged write is there, also for a member that starts then. All that the members saw is linearizable.
func TestLinearizable(t *testing.T) {
	var all storetest.Seen
	deaths, midWrite, cuts, holds := 0, 0, 0, 0
	for seed := range *seeds {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			w := &world{began: time.Now(), load: storetest.NewLoad(), seed: uint64(seed), server: served.NewServer(), cut: map[string]time.Time{}, kill: map[string]func(){}, doomed: map[string]bool{}}
			ends, end := context.WithTimeout(t.Context(), worldTime)
			defer end()
			var members sync.WaitGroup
			for id := range 3 + seed%2*2 {
				members.Go(func() { w.member(ends, id) })
			}
			w.disturb(ends, 3+seed%2*2)
			members.Wait()
			draw := rand.New(rand.NewPCG(w.seed, 98))
			last, err := store.Open(t.Context(), served.Open(w.now(), w.ask(t.Context(), draw, "last", make(chan []byte, 10_000))), w.config("last"))
			require.NoError(t, err)
			all.Add(w.load.Check(t, last))
			w.sends.Wait()
			deaths, midWrite, cuts, holds = deaths+w.deaths, midWrite+w.midWrite, cuts+w.cuts, holds+len(w.server.Holds)
		})
	}
	t.Logf("%d worlds, %d deaths, %d in a write, %d times cut off, %d operations, %d without an answer, %d nodes that were acknowledged, %d times held or lost the lead", *seeds, deaths, midWrite, cuts, all.Operations, all.Unknown, all.Created, holds)
}
