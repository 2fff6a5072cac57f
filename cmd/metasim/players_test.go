package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"metasim/client"
	"metasim/metasim"
)

// players are the programs that scenarios of these tests start: each is a way to be a good or a bad client.
var players = map[string]func(args []string) int{
	"echo":     func(args []string) int { return playEcho(args, func(int) {}) },
	"exit3":    playExit3,
	"absent":   playAbsent,
	"stubborn": playStubborn,
	"stuck":    playStuck,
	"liar":     playLiar,
	"sleeper":  playSleeper,
	"spinner":  playSpinner,
	"listener": playListener,
	"parent":   playParent,
}

// told prints an error and says whether there was one.
func told(err error) bool {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return err != nil
}

// playEcho is the built-in model echo, written with the client library: in, out. Before it answers message n it asks.
func playEcho(args []string, before func(n int)) int {
	ctx := context.Background()
	b := client.NewBuilder("echo")
	out := b.Publication(args[1])
	n := 0
	err := b.Subscribe(args[0], func(m client.Message) {
		before(n)
		n++
		told(out.Publish(m.Payload)) // Run returns it, too
	})
	if told(err) {
		return 1
	}
	c, err := b.Complete(ctx)
	if told(err) || told(c.Run(ctx)) {
		return 1
	}
	return 0
}

// playExit3 does not join: 30 lines on stderr, and exit status 3.
func playExit3([]string) int {
	for i := range 30 {
		fmt.Fprintf(os.Stderr, "line %d\n", i+1)
	}
	return 3
}

// playAbsent does not join, and does not end either. The file is there once it has begun.
func playAbsent(args []string) int {
	note(args[0])
	wait()
	return 0
}

// playStubborn leaves as it should, and then does not end, even if asked to.
func playStubborn(args []string) int {
	signal.Ignore(syscall.SIGTERM)
	if status := playEcho(args, func(int) {}); status != 0 {
		return status
	}
	wait()
	return 0
}

// playStuck joins, and answers the third message never: in, out, and a file that is there once it hangs.
func playStuck(args []string) int {
	return hang(args, wait)
}

// hang answers two messages, and then does something for ever: in, out, and a file that is there when it begins to.
func hang(args []string, forever func()) int {
	return playEcho(args, func(n int) {
		if n == 2 {
			fmt.Fprintln(os.Stderr, "about to hang")
			note(args[2])
			forever()
		}
	})
}

// playSleeper sleeps, for longer than any test lasts.
func playSleeper(args []string) int {
	return hang(args, func() { <-time.After(time.Hour) })
}

// playSpinner computes, and comes to no end.
func playSpinner(args []string) int {
	return hang(args, func() {
		for n := uint64(1); n != 0; n++ {
		}
	})
}

// playListener waits for a message that can never come, as nobody sends on this channel; and pongs before: in, out, a file.
func playListener(args []string) int {
	ctx := context.Background()
	b := client.NewBuilder("listener")
	err := b.Subscribe("SILENCE", func(client.Message) {})
	out := b.Publication(args[1])
	if told(err) {
		return 1
	}
	c, err := b.Complete(ctx)
	if told(err) || told(out.Publish(nil)) {
		return 1
	}
	note(args[2])
	if told(c.Run(ctx)) {
		return 1
	}
	return 0
}

// playLiar is not deterministic: what it sends depends on GOMAXPROCS, from its second message on.
func playLiar([]string) int {
	ctx := context.Background()
	b := client.NewBuilder("liar")
	out := b.Publication("LIES")
	c, err := b.Complete(ctx)
	if told(err) {
		return 1
	}
	for i := range 3 {
		_, err := c.Step(ctx, metasim.Time(i)*metasim.Time(time.Millisecond))
		word := "a"
		if i > 0 {
			word = os.Getenv("GOMAXPROCS")
		}
		if told(err) || told(out.Publish([]byte(word))) {
			return 1
		}
	}
	if told(c.Leave(ctx)) {
		return 1
	}
	return 0
}

// playParent has a child, which outlives those who only end their own children, and is as stuck as can be.
func playParent(args []string) int {
	signal.Ignore(syscall.SIGTERM)
	self, err := os.Executable()
	if told(err) {
		return 1
	}
	child := exec.Command(self, args[3])
	child.Env = append(os.Environ(), play+"=absent")
	if told(child.Start()) {
		return 1
	}
	return playStuck(args)
}

// note tells the test that this process is where it is to be, and its id.
func note(file string) {
	temp := file + ".new"
	if told(os.WriteFile(temp, []byte(strconv.Itoa(os.Getpid())), 0o600)) || told(os.Rename(temp, file)) {
		os.Exit(1)
	}
}

// wait waits for ever. A read that never ends is no deadlock to Go's runtime.
func wait() {
	r, w, err := os.Pipe()
	if told(err) {
		os.Exit(1)
	}
	_, err = io.Copy(io.Discard, r)
	told(err)
	told(w.Close())
}
