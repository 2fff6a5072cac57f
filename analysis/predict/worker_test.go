package predict_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"metasim/client"
	"metasim/internal/testprogram"
	"metasim/metasim"
)

// TestMain lets this test binary be a worker, as a command of a scenario.
func TestMain(m *testing.M) {
	os.Exit(testprogram.Main(m, map[string]testprogram.Program{"work": work}))
}

// A worker is a client that really computes.
type worker struct {
	in, out string
	first   bool          // it sends while it initializes
	period  time.Duration // of its timer; 0: it only answers
	send    int           // it sends once in so many periods
	deaf    bool          // messages cost it nothing, and it answers none
	rounds  int           // how much it computes for a message or a period
	spin    time.Duration // for how long it does so, of processor time
	sleep   time.Duration // how long it sleeps afterwards
	promise bool          // it promises to send nothing until it does
	after   time.Duration // its delay before an answer
	declare bool          // it declares that delay as its reaction time

	client *client.Client
	pub    *client.Publication
	beats  int
}

// work takes part in a run as a worker.
func work(args []string) error {
	var w worker
	set := flag.NewFlagSet("work", flag.ContinueOnError)
	set.StringVar(&w.in, "in", "", "the channel that it subscribes to")
	set.StringVar(&w.out, "out", "", "the channel on which it sends")
	set.BoolVar(&w.first, "first", false, "it sends while it initializes")
	set.DurationVar(&w.period, "period", 0, "the period of its timer")
	set.IntVar(&w.send, "send", 1, "it sends once in so many periods")
	set.BoolVar(&w.deaf, "deaf", false, "messages cost it nothing")
	set.IntVar(&w.rounds, "rounds", 0, "how much it computes")
	set.DurationVar(&w.spin, "spin", 0, "for how long it computes, of processor time")
	set.DurationVar(&w.sleep, "sleep", 0, "how long it sleeps afterwards")
	set.BoolVar(&w.promise, "promise", false, "it promises to send nothing until it does")
	set.DurationVar(&w.after, "after", 0, "its delay before an answer")
	set.BoolVar(&w.declare, "declare", false, "it declares that delay")
	if err := set.Parse(args); err != nil {
		return err
	}
	return w.run(context.Background())
}

func (w *worker) run(ctx context.Context) (err error) {
	b := client.NewBuilder("")
	if w.out != "" {
		w.pub = b.Publication(w.out)
	}
	if w.in != "" {
		err = b.Subscribe(w.in, w.hear)
	}
	if w.declare {
		err = errors.Join(err, b.Reaction(w.after))
	}
	if err != nil {
		return err
	}
	if w.client, err = b.Complete(ctx); err != nil {
		return err
	}
	if w.first {
		if err := w.pub.Publish([]byte("first")); err != nil {
			return err
		}
	}
	if w.period > 0 {
		w.client.Every(w.period, w.beat)
	}
	return w.client.Run(ctx)
}

// hear computes, and answers the message unless it has a timer.
func (w *worker) hear(m client.Message) error {
	if w.deaf {
		return nil
	}
	w.act()
	switch {
	case w.pub == nil || w.period > 0:
	case w.after == 0:
		return w.pub.Publish(m.Payload)
	default:
		w.client.After(w.after, func() error { return w.pub.Publish(m.Payload) })
	}
	return nil
}

// beat computes in each period.
func (w *worker) beat() error {
	w.act()
	if w.pub == nil {
		return nil
	}
	if w.beats++; w.beats%w.send == 0 {
		if err := w.pub.Publish([]byte("beat")); err != nil {
			return err
		}
	}
	if !w.promise {
		return nil
	}
	return w.client.Promise(w.client.Now().Time.Add(metasim.Time(w.send-w.beats%w.send) * metasim.Time(w.period)))
}

// act is what a message or a period costs.
func (w *worker) act() {
	compute(w.rounds)
	for end := processTime() + w.spin; processTime() < end; {
		compute(100)
	}
	sleepFor(w.sleep) // the work of the client, not a wait for something
}

// compute hashes; a round takes about a tenth of a microsecond.
func compute(rounds int) (sum [sha256.Size]byte) {
	for range rounds {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}
