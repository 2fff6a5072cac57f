// Command metasim-soak runs for long, to see whether anything grows: one run with very many messages, whose memory is measured while it goes on,
// and very many runs in one process, after which there must be no more goroutines, descriptors and files than after the first ones.
//
//	metasim-soak -messages 1000000000 -runs 1000 -metasim bin/metasim
//
// Exit status: 0 nothing grew, 1 something did or a run failed, 2 bad usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	messages := flag.Uint64("messages", 1_000_000_000, "how many messages are delivered in one run; 0: this part is left out")
	runs := flag.Int("runs", 1000, "how many runs are carried out in one process; 0: this part is left out")
	every := flag.Duration("every", time.Second, "how often the one run is paused, and its memory measured")
	program := flag.String("metasim", "", "the program metasim, for runs over unix, tcp, shm and quic too; without it they are all within this process")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := soak(ctx, *messages, *runs, *every, *program); err != nil {
		fmt.Fprintln(os.Stderr, "metasim-soak:", err)
		os.Exit(1)
	}
}

// soak does both parts, in a directory that it removes.
func soak(ctx context.Context, messages uint64, runs int, every time.Duration, program string) (err error) {
	place, err := os.MkdirTemp("", "metasim-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(place)) }()
	if err := os.Setenv("TMPDIR", place); err != nil { // so that whatever a run leaves is counted
		return err
	}
	if program != "" {
		if program, err = filepath.Abs(program); err != nil {
			return err
		}
	}
	if messages > 0 {
		if err := long(ctx, messages, every, place); err != nil {
			return err
		}
	}
	if runs > 0 {
		return many(ctx, runs, place, program)
	}
	return nil
}
