package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"metasim/federates/authority/homeclient"
	"metasim/federates/authority/live"
	"metasim/monitor"
	"metasim/monitor/owners"
)

// authorityLook has the flags of metasim authority show by which it shows simulation servers that are programs of their own.
type authorityLook struct {
	peers []string
	home  askedHome
}

func (l *authorityLook) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&l.peers, "peer", nil, "show this `server`, a program of its own, instead of a run: NAME=URL, or NAME=FILE with its --ready-file; may be repeated")
	l.home.add(cmd, "show all servers of this `homeserver`, instead of a run")
}

// wanted reports whether servers outside of a run are to be shown.
func (l *authorityLook) wanted() bool { return len(l.peers) > 0 || l.home.at != "" }

// A findServer says where a server is.
type findServer = func(ctx context.Context) (string, error)

// servers returns how the servers are found that are to be shown.
func (l *authorityLook) servers(ctx context.Context) (map[string]findServer, error) {
	all := map[string]findServer{}
	for _, p := range l.peers {
		name, at, ok := strings.Cut(p, "=")
		if !ok || name == "" || at == "" {
			return nil, badUsage(fmt.Errorf("--peer is %q; write NAME=URL or NAME=FILE", p))
		}
		all[name] = func(context.Context) (string, error) { return urlOf(at) }
	}
	if l.home.at == "" {
		return all, nil
	}
	client, err := l.home.client()
	if err != nil {
		return nil, err
	}
	type server struct{ Name, URL string }
	var page struct{ Items []server }
	if _, err := client.Do(ctx, homeclient.Request{Method: "GET", Path: "/v1/servers", Query: "limit=1000"}, nil, &page); err != nil {
		return nil, failed(err)
	}
	for _, s := range page.Items {
		all[s.Name] = func(ctx context.Context) (string, error) {
			var now server
			_, err := client.Do(ctx, homeclient.Request{Method: "GET", Path: "/v1/servers/" + url.PathEscape(s.Name)}, nil, &now)
			return now.URL, err
		}
	}
	if len(all) == 0 {
		return nil, failed(fmt.Errorf("no simulation server has registered at %s; start one with 'metasim authority simserver --home', or name it with --peer", l.home.at))
	}
	return all, nil
}

// urlOf returns a URL, or the one that a file has.
func urlOf(at string) (string, error) {
	if strings.Contains(at, "://") {
		return at, nil
	}
	text, err := os.ReadFile(at)
	return strings.TrimSpace(string(text)), err
}

// show shows servers on a page until the command is ended.
func (l *authorityLook) show(ctx context.Context, std streams, addr string) error {
	access, addr, err := monitor.AccessOf(addr)
	if err == nil && access != monitor.Loopback {
		err = fmt.Errorf("other hosts could reach --http %s, and this page has no password; use 127.0.0.1, and ssh -L from elsewhere", addr)
	}
	token := os.Getenv("METASIM_TOKEN")
	if err == nil && token == "" {
		err = errors.New("METASIM_TOKEN is empty; set the token that all servers of the world know")
	}
	if err != nil {
		return badUsage(err)
	}
	servers, err := l.servers(ctx)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return failed(fmt.Errorf("%w; use a free port, or 0 for any", err))
	}
	page := owners.New()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		go live.Look(ctx, token, servers[name], page.Take, func(err error) { fmt.Fprintf(std.err, "%s cannot be shown now: %v\n", name, err) })
	}
	server := &http.Server{Handler: monitor.OnThisHost(page.Handler()), ReadTimeout: 10 * time.Second}
	fmt.Fprintf(std.err, "live: http://%s/\n", listener.Addr())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // who looks sees that the stream has ended
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return failed(err)
	}
	return nil
}
