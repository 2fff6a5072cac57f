package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"metasim/internal/atomicfile"
	"metasim/relay"
	"metasim/wire/transport"
	"metasim/wire/transport/all"
	"metasim/wire/transport/secure"
)

// relayFlags are the flags of metasim relay.
type relayFlags struct {
	listen    []string
	readyFile string
	verbose   bool
}

func newRelay(std streams) *cobra.Command {
	var f relayFlags
	cmd := &cobra.Command{
		Use:   "relay [SERVER]",
		Short: "Join the clients of this host to a server over one connection",
		Long: "Join the clients of this host to a server over one connection: the server may be on another host, and the clients need no QUIC\n" +
			"and no TLS. SERVER is the address that metasim serve or metasim run printed (default: METASIM_SERVER). The addresses for the\n" +
			"clients are printed: give them one as METASIM_SERVER, and METASIM_CLIENT and METASIM_TOKEN as for the server itself. The first\n" +
			"client connects the relay, with its token; the relay ends with the run. Where metasim dies, the relay waits\n" +
			"for metasim resume with its clients. Where the relay dies, start it again with the same addresses: its clients come back. With\n" +
			"METASIM_TOKEN set to the token of the run, the relay also takes a first Hello of more than 4 KiB over tcp, that of a client with\n" +
			"very many channels.\n\n" +
			"Exit status: 0 the run is over, and every client has left; 1 the connection to the server was lost, or the relay could not\n" +
			"listen at an address of --listen; 2 bad usage.",
		Example: "  metasim relay 'quic://10.0.0.7:9000?sha256=...'\n  metasim relay --listen unix:///tmp/r.sock --listen tcp --ready-file addresses",
		Args:    between(0, 1, "the address of a server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.relay(cmd, cmp.Or(strings.Join(args, ""), os.Getenv("METASIM_SERVER")), std)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.listen, "listen", []string{"unix"}, "take in clients here: unix, shm or tcp, or an `address` such as unix:///tmp/r.sock or\n"+
		"tcp://127.0.0.1:9001; may be repeated")
	flags.StringVar(&f.readyFile, "ready-file", "", "write the addresses for the clients to this `file`, one a line, once they can join")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log what happens")
	addDefaults(cmd)
	return cmd
}

// relay serves as a relay until the run is over.
func (f *relayFlags) relay(cmd *cobra.Command, server string, std streams) error {
	table := all.Table()
	if err := checkServer(table, server); err != nil {
		return badUsage(err)
	}
	log := newLogger(std.err, f.verbose)
	listeners, err := f.open(table, log)
	defer func() {
		for _, l := range listeners {
			_ = l.Close() // the relay has closed it, mostly
		}
	}()
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // without it the number of the process names the relay
	r := relay.New(relay.Config{
		Name: strings.TrimSpace(fmt.Sprintf("%s pid %d", host, os.Getpid())), Server: server, Dial: table.DialAs, Token: os.Getenv("METASIM_TOKEN"), Log: log,
	})
	for _, l := range listeners {
		go func() { _ = r.Accept(l) }() // nothing is left to be told when it ends
	}
	if err := f.ready(listeners, std); err != nil {
		return failed(err)
	}
	return failed(r.Serve(cmd.Context()))
}

// checkServer looks at the address of a server as far as that can be done without it.
func checkServer(table transport.Table, server string) error {
	scheme, _, _ := strings.Cut(server, "://")
	switch {
	case !slices.Contains(table.Schemes(), scheme):
		return &transport.UnknownError{URL: server, Schemes: table.Schemes()}
	case scheme == "quic" || scheme == "tls":
		_, _, err := secure.ParseServer(scheme, server)
		return err
	}
	return nil
}

// open listens for the clients of this host.
func (f *relayFlags) open(table transport.Table, log *slog.Logger) (listeners []*transport.Listener, err error) {
	for _, where := range f.listen {
		scheme, address, _ := strings.Cut(where, "://")
		if err := checkListen(where, scheme, address); err != nil {
			return listeners, badUsage(err)
		}
		l, err := table.Listen(scheme, address)
		if err != nil {
			return listeners, failed(err)
		}
		if l.Unsupported != nil {
			log.Warn("this system does not support transport "+scheme+"; clients join over "+l.URL(), "cause", l.Unsupported)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// checkListen refuses what is not for the clients of one host.
func checkListen(where, scheme, address string) error {
	switch scheme {
	case "unix", "shm":
		return nil
	case "tcp":
		host, _, err := net.SplitHostPort(cmp.Or(address, "127.0.0.1:0"))
		if ip := net.ParseIP(host); err == nil && (host == "localhost" || ip != nil && ip.IsLoopback()) {
			return nil
		}
		return fmt.Errorf("--listen %s: a relay is for the clients of its own host, and nothing is encrypted between them; use an address such as tcp://127.0.0.1:9001, "+
			"and a relay on each host", where)
	}
	return errors.New("--listen " + where + ": clients of this host join over unix, shm or tcp; use one of them, or an address such as unix:///tmp/r.sock")
}

// ready tells where the clients can join.
func (f *relayFlags) ready(listeners []*transport.Listener, std streams) error {
	var urls, lines strings.Builder
	for _, l := range listeners {
		urls.WriteString(l.URL() + "\n")
		lines.WriteString("METASIM_SERVER=" + l.URL() + "\n")
	}
	if f.readyFile != "" {
		if err := atomicfile.Write(f.readyFile, []byte(urls.String()), 0o600); err != nil {
			return fmt.Errorf("the ready file cannot be written: %w; name a file in a directory that exists", err)
		}
	}
	_, err := io.WriteString(std.err, lines.String())
	return err
}
