package client

import (
	"context"
	"fmt"
	"time"

	"metasim/wire"
	"metasim/wire/transport"
)

// How long a client waits before it looks for its server again: the longer it has looked, the longer.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// dial connects to the server, which may have to be started first.
func dial(ctx context.Context, table transport.Table, o options) (wire.Conn, error) {
	if o.patience <= 0 {
		return table.DialAs(ctx, o.url, o.token)
	}
	began := time.Now()
	patience, cancel := context.WithTimeout(ctx, o.patience)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		conn, err := table.DialAs(patience, o.url, o.token)
		if err == nil || ctx.Err() == nil && !transport.Unanswered(err) {
			return conn, err
		}
		if pause == firstPause {
			o.log.Info("the server does not listen yet", "server", o.url, "why", err)
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-patience.Done():
			again.Stop()
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("nobody listened within %v, as long as WithStartTimeout allows: %w", time.Since(began).Round(time.Millisecond), err)
		}
	}
}
