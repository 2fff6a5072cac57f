package client_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"metasim/client"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire/transport/mem"
)

// exampleRun serves a run of 25 ms for these clients, inside the process.
func exampleRun(live map[string]func(ctx context.Context, conn client.Option) error) {
	config := server.Config{Core: metasim.Config{Until: 25 * metasim.Millisecond}}
	for name := range live {
		config.Core.Clients = append(config.Core.Clients, name)
	}
	srv, err := server.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, net := context.Background(), mem.NewNet()
	var all sync.WaitGroup
	all.Go(func() { report(srv.Accept(net)) })
	for _, f := range live {
		all.Go(func() {
			conn, err := net.Dial(ctx)
			report(err)
			report(f(ctx, client.WithConn(conn)))
		})
	}
	report(srv.Serve(ctx))
	all.Wait()
}

func report(err error) {
	if err != nil {
		fmt.Println(err)
	}
}

// answer echoes what it hears on PING at the same instant, for ever.
func answer(ctx context.Context, conn client.Option) error {
	b := client.NewBuilder("ponger")
	out := b.Publication("PONG")
	if err := b.Subscribe("PING", func(m client.Message) error { return out.Publish(m.Payload) }); err != nil {
		return err
	}
	c, err := b.Complete(ctx, conn)
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

// A client that Run drives: timers and handlers.
func ExampleClient_Run() {
	exampleRun(map[string]func(context.Context, client.Option) error{
		"ponger": answer,
		"pinger": func(ctx context.Context, conn client.Option) error {
			var c *client.Client
			b := client.NewBuilder("pinger")
			out := b.Publication("PING")
			err := b.Subscribe("PONG", func(m client.Message) error {
				_, err := fmt.Println(c.Now(), m.From, string(m.Payload))
				return err
			})
			if err != nil {
				return err
			}
			if c, err = b.Complete(ctx, conn); err != nil { // server, name and token from METASIM_*; or options
				return err
			}
			c.Every(10*time.Millisecond, func() error { return out.Publish([]byte(c.Now().String())) })
			return c.Run(ctx)
		},
	})
	// Output:
	// 10ms+2 ponger 10ms
	// 20ms+2 ponger 20ms
}

// A simulator with a loop of its own.
func ExampleClient_Steps() {
	exampleRun(map[string]func(context.Context, client.Option) error{
		"ponger": answer,
		"plant": func(ctx context.Context, conn client.Option) error {
			b := client.NewBuilder("plant")
			out := b.Publication("PING")
			if err := b.Subscribe("PONG", nil); err != nil {
				return err
			}
			c, err := b.Complete(ctx, conn)
			if err != nil {
				return err
			}
			for t, msgs := range c.Steps(ctx, 10*time.Millisecond) { // everything due at or before t, complete, in order
				fmt.Println(t, len(msgs))
				if err := out.Publish([]byte("state")); err != nil {
					return err
				}
			}
			return c.Leave(ctx)
		},
	})
	// Output:
	// 0s 0
	// 10ms 1
	// 20ms 1
}
