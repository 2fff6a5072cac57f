package supervisor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// StartOn starts a supervisor on another host, by a command that starts it there, such as ssh. It waits until the supervisor answers, and returns its
// version. An error names the host. What the command gets of the environment of this program is env.
func StartOn(ctx context.Context, host string, command, env []string, warn func(client, text string)) (*Supervisor, string, error) {
	k, err := start(host, command, env, warn)
	if err != nil {
		return nil, "", fmt.Errorf("host %s: %w", host, err)
	}
	k.mark = rand.Text()
	select {
	case version := <-k.ready:
		return k, version, nil
	case <-k.over:
		return nil, "", k.gone()
	case <-ctx.Done():
		_ = k.cmd.Process.Kill() // it has ended already, if this fails
		<-k.over
		return nil, "", fmt.Errorf("host %s does not answer: %w", host, cmp.Or(k.said.err(), context.Cause(ctx)))
	}
}

// Caller is the address of this host, as the host of the supervisor sees it; empty: nobody there knows.
func (k *Supervisor) Caller() string { return k.caller }

// Notice tells that the host of the supervisor is about to be taken away.
func (k *Supervisor) Notice() <-chan struct{} { return k.notice }

// RoundTrip is the least time in which the supervisor has answered.
func (k *Supervisor) RoundTrip() time.Duration { return k.trips.roundTrip() }

// Lost says how the supervisor ended, once it has been closed; nil: when all that it had started had ended.
func (k *Supervisor) Lost() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.finished {
		return nil
	}
	return k.gone()
}

// Silent reports whether it was given up because nothing came from it: its host may be there no more.
func (k *Supervisor) Silent() bool { return k.silent.Load() }

// Beat asks the supervisor of another host for an answer, several times in limit, until it ends. If nothing comes from it for limit, it is lost; and if
// nothing comes from here for so long, it ends all that it has started.
func (k *Supervisor) Beat(limit time.Duration) {
	due := make(chan struct{}, 1)
	defer close(due)
	go func() {
		for range due {
			k.trips.asked(time.Now())
			_ = k.send(request{Signal: beat, Within: limit}) // fails only if the supervisor has ended
		}
	}()
	every := time.NewTicker(limit / beats)
	defer every.Stop()
	for silent := 0; silent <= beats; silent++ {
		select {
		case due <- struct{}{}:
		default: // the connection is full
		}
		select {
		case <-k.over:
			return
		case <-every.C:
		}
		if k.closing.Load() {
			return
		}
		if k.heard.Swap(false) {
			silent = 0
		}
	}
	k.silent.Store(true)
	k.said.add(fmt.Sprintf("nothing has come from it for %v", limit))
	_ = k.cmd.Process.Kill() // it has ended already, if this fails
}

// EndLeft ends what this supervisor has left on its host, after it was lost and closed, and returns that. For this it starts another one there, by a command
// as in StartOn. A supervisor that was killed has ended nothing: its programs may still run, and so may what they have started. One that still runs ends them itself.
func (k *Supervisor) EndLeft(ctx context.Context, command, env []string) ([]Stray, error) {
	other, _, err := StartOn(ctx, k.host, command, env, k.warn)
	if err != nil {
		return nil, err
	}
	err = other.send(request{Signal: sweep, Mark: k.mark})
	left, e := other.Close()
	return left, errors.Join(err, e)
}
