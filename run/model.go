package run

import (
	"context"
	"errors"
	"fmt"

	"metasim/client"
	"metasim/federates"
)

// Model takes part in a run with a built-in model, from joining to leaving.
func Model(ctx context.Context, m federates.Model, name string, opts ...client.Option) error {
	b := client.NewBuilder(name)
	if err := m.Declare(b); err != nil {
		return fmt.Errorf("client %s: %w", name, err)
	}
	c, err := b.Complete(ctx, opts...)
	if err != nil {
		return err
	}
	if err := m.Run(ctx, c); err != nil {
		return errors.Join(err, c.Close())
	}
	return c.Leave(ctx)
}
