package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"

	"github.com/spf13/cobra"

	"metasim/internal/plain"
	"metasim/monitor"
	"metasim/record"
	"metasim/record/output"
)

func newLogs(std streams) *cobra.Command {
	var follow, asJSON bool
	cmd := &cobra.Command{
		Use:   "logs RUN_DIR [CLIENT]",
		Short: "Print what the processes of a run wrote",
		Long: "Print what the processes of a run wrote: first what came on the standard output of each client, then what came on\n" +
			"its standard error, without commands to a terminal. Of more than output_limit, the beginning and the end are kept;\n" +
			"what is left out is counted. The files themselves are in the directory clients of the run.\n\n" +
			"Clients that are models in the process of metasim write nothing. Clients that shared a process (--pack) have one\n" +
			"output, under the name of the first.",
		Example: "  metasim logs runs/arm-3\n  metasim logs runs/arm-3 controller -f",
		Args:    between(1, 2, "a run directory, and a client or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := record.Open(args[0])
			if err != nil {
				return badUsage(err)
			}
			clients := r.Manifest.Clients
			if len(args) > 1 {
				if _, err := r.Client(args[1]); err != nil {
					return badUsage(err)
				}
				clients = args[1:]
			}
			return printLogs(cmd.Context(), r, clients, follow, asJSON, std)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run ends")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// A logLine is a line of output: what `metasim logs --json` prints.
type logLine struct {
	Client string `json:"client"`
	Host   string `json:"host,omitempty"` // where it ran, if metasim has started it on another host
	Stream string `json:"stream"`         // stdout or stderr
	Line   string `json:"line"`
	// LeftOut is how many bytes are left out here. There is no line then.
	LeftOut int64 `json:"left_out,omitempty"`
}

// A logReader reads one output of one client as it grows.
type logReader struct {
	logLine
	name  string // of the output
	at    int64  // what follows is not read yet
	begun []byte // a line without its end
	print func(logLine) error
}

const (
	// followEvery is the time between two looks at an output that may grow.
	followEvery = 200 * time.Millisecond
	// maxLogLine is where a line is broken that has no end.
	maxLogLine = 1 << 20
)

func printLogs(ctx context.Context, r *record.Run, clients []string, follow, asJSON bool, std streams) error {
	print := func(l logLine) error { return printLogLine(std.out, l, asJSON) }
	var readers []*logReader
	hosts := map[string]string{}
	for _, p := range r.Manifest.Placed {
		for _, client := range p.Clients {
			hosts[client] = p.Host
		}
	}
	for _, client := range clients {
		for _, stream := range []string{"stdout", "stderr"} {
			readers = append(readers, &logReader{logLine: logLine{Client: client, Host: hosts[client], Stream: stream}, name: output.Name(client) + "." + stream, print: print})
		}
	}
	for {
		goesOn := follow && monitor.GoesOn(r.Dir.Path())
		found := false
		folder, err := output.Look(r.Dir.File("clients"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed(err)
		}
		for _, reader := range readers {
			exists, err := reader.read(folder, !goesOn)
			if err != nil {
				return failed(err)
			}
			found = found || exists
		}
		switch {
		case !goesOn && !found:
			fmt.Fprintln(std.err, "note: no process of the run wrote anything that is kept: models in the process of metasim write nothing")
			return nil
		case !goesOn:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

func printLogLine(w io.Writer, l logLine, asJSON bool) (err error) {
	who := l.Client
	if l.Host != "" {
		who += " on " + l.Host
	}
	switch mark := map[string]string{"stdout": "|", "stderr": "!"}[l.Stream]; {
	case asJSON:
		return printJSON(w, l)
	case l.LeftOut > 0:
		_, err = fmt.Fprintf(w, "%s %s ... %d bytes are left out: see output_limit ...\n", who, mark, l.LeftOut)
	default:
		_, err = fmt.Fprintf(w, "%s %s %s\n", who, mark, l.Line)
	}
	return err
}

// read prints what has come since the last call. last says that no more will come. It reports whether the output exists.
func (r *logReader) read(folder *output.Folder, last bool) (exists bool, err error) {
	for {
		part, at, err := folder.Open(r.name, r.at)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return true, err
		}
		if left := at - r.at; left > 0 {
			if err = r.end(); err == nil {
				err = r.print(logLine{Client: r.Client, Host: r.Host, Stream: r.Stream, LeftOut: left})
			}
		}
		r.at = at
		if err = errors.Join(err, r.readPart(part), part.Close()); err != nil {
			return true, err
		}
	}
	if last {
		return true, r.end()
	}
	return true, nil
}

// readPart prints the lines of one part.
func (r *logReader) readPart(part io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := part.Read(buffer)
		r.at += int64(n)
		for line := range bytes.Lines(buffer[:n]) {
			r.begun = append(r.begun, line...)
			if bytes.HasSuffix(line, []byte("\n")) || len(r.begun) >= maxLogLine {
				if err := r.end(); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// end prints the line that was begun, if there is one.
func (r *logReader) end() error {
	if len(r.begun) == 0 {
		return nil
	}
	r.Line = plain.Line(string(bytes.TrimRight(r.begun, "\n")), math.MaxInt)
	r.begun = r.begun[:0]
	return r.print(r.logLine)
}
