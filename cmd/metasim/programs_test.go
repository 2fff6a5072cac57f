package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"metasim/client"
	"metasim/internal/testprogram"
	"metasim/metasim"
	"metasim/wire/transport/all"
)

// programs are what this test binary can be: metasim, and the programs that scenarios of these tests start. Each of those
// is a good or a bad client.
var programs = map[string]testprogram.Program{
	"metasim":  func([]string) error { main(); return nil },
	"echo":     func(args []string) error { return echo(args, func(int) error { return nil }) },
	"dies":     dies,
	"exit3":    exit3,
	"absent":   absent,
	"stuck":    stuck,
	"waiter":   waiter,
	"liar":     liar,
	"hostile":  hostile,
	"sleeper":  sleeper,
	"spinner":  spinner,
	"listener": listener,
	"parent":   parent,
	"engine":   engine,
}

// echo is the built-in model echo, written with the client library: in, out. It calls before ahead of answer n.
func echo(args []string, before func(n int) error) error {
	ctx := context.Background()
	b := client.NewBuilder("echo")
	out := b.Publication(args[1])
	n := 0
	if err := b.Subscribe(args[0], func(m client.Message) error {
		if err := before(n); err != nil {
			return err
		}
		n++
		return out.Publish(m.Payload)
	}); err != nil {
		return err
	}
	c, err := b.Complete(ctx, client.WithTransports(all.Table()))
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

// dies is echo, until it exits with status 7 at its third message; but not if a file is there: in, out, and perhaps a file.
func dies(args []string) error {
	return echo(args, func(n int) error {
		if n < 2 {
			return nil
		}
		if len(args) > 2 {
			if _, err := os.Stat(args[2]); err == nil {
				return nil
			}
		}
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
		return nil
	})
}

// exit3 does not join: 30 lines on stderr, and exit status 3.
func exit3([]string) error {
	for i := range 30 {
		fmt.Fprintf(os.Stderr, "line %d\n", i+1)
	}
	return testprogram.Status(3)
}

// absent does not join, and does not end either. The file is there once it has begun.
func absent(args []string) error {
	return errors.Join(note(args[0]), wait())
}

// waiter is echo that waits for a file before it answers its third message: in, out, a file that is there once it waits, and the one that it waits for.
func waiter(args []string) error {
	return echo(args, func(n int) error {
		if n != 2 {
			return nil
		}
		err := note(args[2])
		for err == nil {
			if _, err = os.Stat(args[3]); err == nil {
				return nil
			}
			if errors.Is(err, os.ErrNotExist) {
				err = nil
			}
			<-time.After(10 * time.Millisecond)
		}
		return err
	})
}

// stuck joins, and never answers the third message: in, out, and a file that is there once it hangs.
func stuck(args []string) error { return hang(args, wait) }

// sleeper is stuck in a sleep.
func sleeper(args []string) error {
	return hang(args, func() error { <-time.After(time.Hour); return nil })
}

// spinner is stuck in a computation.
func spinner(args []string) error {
	return hang(args, func() error {
		for n := uint64(1); n != 0; n++ {
		}
		return nil
	})
}

// hang answers two messages, and then does something for ever: in, out, and a file that is there when it begins to.
func hang(args []string, forever func() error) error {
	return echo(args, func(n int) error {
		if n < 2 {
			return nil
		}
		fmt.Fprintln(os.Stderr, "about to hang")
		return errors.Join(note(args[2]), forever())
	})
}

// listener waits for a message that can never come, as nobody sends on its channel: in, out, a file.
func listener(args []string) error {
	ctx := context.Background()
	b := client.NewBuilder("listener")
	if err := b.Subscribe(args[0], func(client.Message) error { return nil }); err != nil {
		return err
	}
	out := b.Publication(args[1])
	c, err := b.Complete(ctx)
	if err != nil {
		return err
	}
	return errors.Join(out.Publish(nil), note(args[2]), c.Run(ctx))
}

// liar is not deterministic: what it sends depends on GOMAXPROCS, from its second message on.
func liar([]string) error {
	ctx := context.Background()
	b := client.NewBuilder("liar")
	out := b.Publication("LIES")
	c, err := b.Complete(ctx)
	if err != nil {
		return err
	}
	for i := range 3 {
		word := "a"
		if i > 0 {
			word = os.Getenv("GOMAXPROCS")
		}
		_, err := c.Step(ctx, metasim.Time(i)*metasim.Millisecond)
		if err := errors.Join(err, out.Publish([]byte(word))); err != nil {
			return err
		}
	}
	return c.Leave(ctx)
}

// parent has a child, which outlives a program that ends only its own children, and is as stuck as can be.
func parent(args []string) error {
	signal.Ignore(syscall.SIGTERM)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.Command(self, args[3])
	child.Env = append(os.Environ(), testprogram.Env("absent"))
	return errors.Join(child.Start(), stuck(args))
}

// note tells the test that this process is where it is to be, and its id.
func note(file string) error {
	temp := file + ".new"
	return errors.Join(os.WriteFile(temp, []byte(strconv.Itoa(os.Getpid())), 0o600), os.Rename(temp, file))
}

// wait waits for ever. A read that never ends is no deadlock to Go's runtime.
func wait() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, w.Close())
}
