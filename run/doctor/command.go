package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"metasim/run/launch"
)

// patience is how long is waited for anything that does not answer.
const patience = 10 * time.Second

// command runs a command. in is its standard input; nil: it has none. It returns what the command has printed. The error says why the command has failed.
func command(ctx context.Context, limit time.Duration, in io.Reader, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Env = in, launch.Environment()
	cmd.WaitDelay = time.Second // what it has started may hold its output
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("%s has not ended within %v", argv[0], limit)
	case errors.As(err, &exit):
		err = fmt.Errorf("%s: %s", argv[0], cmp.Or(strings.TrimPrefix(launch.Reason(string(exit.Stderr)), argv[0]+": "), exit.Error()))
	}
	return out, err
}
