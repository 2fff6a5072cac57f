package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"metasim/client"
	"metasim/federates/follower"
)

// engine is an engine of somebody else, with a state of one byte: its role, the frame in which it kills itself, and where in it.
func engine(args []string) error {
	ctx := context.Background()
	b := client.NewBuilder("engine")
	n, err := follower.Declare(b, follower.Options{Role: map[string]follower.Role{"controller": follower.Controller, "understudy": follower.Understudy}[args[0]]})
	if err != nil {
		return err
	}
	c, err := b.Complete(ctx)
	if err != nil {
		return err
	}
	if err := n.Join(c); err != nil {
		return err
	}
	var seen struct {
		States []byte `json:"states"`
		Leads  int    `json:"leads"`
	}
	for state := byte(0); ; seen.States = append(seen.States, state) {
		f, err := n.Await(ctx, time.Minute)
		if errors.Is(err, follower.ErrQuit) {
			return errors.Join(c.SetResult(seen), c.Leave(ctx))
		}
		if err != nil {
			return err
		}
		dies := func(where string) {
			if strconv.FormatUint(f.Frame, 10) == args[1] && where == args[2] {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					_ = self.Kill() // nothing comes after it
				}
				select {}
			}
		}
		dies("before")
		if leads, _ := n.IsController(); leads {
			seen.Leads++
			state++
			if err := n.SendFollowerData([]byte{state}); err != nil {
				return err
			}
			dies("sent") // and not written yet
		} else {
			data, err := n.ReceiveFollowerData()
			if err != nil {
				return err
			}
			state = data[0]
		}
		if err := n.Compute(ctx, time.Millisecond); err != nil {
			return err
		}
		dies("after")
	}
}
