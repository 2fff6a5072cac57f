package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"metasim/federates/authority/home"
	"metasim/federates/authority/homeserver"
	"metasim/federates/authority/store"
	"metasim/internal/atomicfile"
	"metasim/metasim"
	"metasim/monitor"
	"metasim/wire/transport/secure"
)

// authorityServe has the flags of metasim authority serve.
type authorityServe struct {
	listen, data, readyFile, tokenFile string
	instance, reads                    string
	etcd                               []string
	files                              secure.Files
	patience, skew                     time.Duration
	rate                               float64
	auditMiB                           int64
	auditKeep                          int
	verbose                            bool

	name, homeserverCert string
	homeservers, tokens  []string
	path                 []string
}

func newAuthorityServe(std streams) *cobra.Command {
	var s authorityServe
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Be a homeserver: accounts, public keys, and who owns which entity, over HTTP",
		Long: "Be a homeserver: keep accounts, public keys, entities, who owns each, who is its master and by which rule it gets another owner.\n" +
			"What may be asked is in /openapi.json; /healthz and /metrics are for those who watch it.\n\n" +
			"The first account is admin. Its token is printed once, when the account is made, or is what --admin-token-file has.\n\n" +
			"What was answered is on the disk, or in the cluster of --etcd. The directory has the file audit.log: who asked for what, and what came of it.\n\n" +
			"Exit status: 0 a signal ended it; 1 it could not begin or go on; 2 bad usage.",
		Example: "  metasim authority serve --data home --ready-file url\n  curl -H \"Authorization: Bearer $TOKEN\" $(cat url)/v1/entities",
		Args:    nothing,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.serve(cmd, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "the `address` to listen at: host:port; port 0 is a free one. Where other hosts reach it --cert and --key are needed")
	flags.StringVar(&s.data, "data", "", "its `directory`, for the tree and the audit log; it is made if it is missing")
	flags.StringVar(&s.readyFile, "ready-file", "", "write the URL to this `file`, once it can be asked")
	flags.StringSliceVar(&s.etcd, "etcd", nil, "keep the tree in a cluster of etcd, at these `URLs`, as in http://10.0.0.1:2379,http://10.0.0.2:2379 (default: in a file of --data)")
	flags.StringVar(&s.tokenFile, "admin-token-file", "", "the `file` with the token of the first account, 16 characters or more; another one replaces it")
	flags.StringVar(&s.name, "name", "home", "the `name` of this homeserver, by which others know it: the one of the account that it has at each of them")
	flags.StringArrayVar(&s.homeservers, "homeserver", nil, "another `homeserver`: NAME=URL, or NAME=FILE with its --ready-file, which is read before each request; may be repeated. It has an account of its name here")
	flags.StringArrayVar(&s.tokens, "homeserver-token", nil, "the `file` with the token of the account that this homeserver has at another one: NAME=FILE, which is read before each request; may be repeated")
	flags.StringVar(&s.homeserverCert, "homeserver-cert", "", "who has signed the certificates of the other homeservers, or those: a PEM `file` (default: whom the system trusts)")
	flags.StringSliceVar(&s.path, "path", nil, "the `homeservers` on the way to the entities and servers that are not here, the next one first, with commas")
	flags.StringVar(&s.instance, "instance", "metasim", "the logical instance, a `name`: homeservers and simulation servers of another one are refused")
	flags.DurationVar(&s.patience, "patience", 30*time.Second, "how long a request waits for the answer of a master, a `duration`")
	flags.DurationVar(&s.skew, "skew", 5*time.Minute, "how far the clocks of others may be from this one, where they publish keys, a `duration`")
	flags.Float64Var(&s.rate, "rate", 500, "how many requests a second an account may send, a `number`; an address may send ten times as many")
	flags.Int64Var(&s.auditMiB, "audit-mib", 64, "how large audit.log becomes, a `number` of MiB, before it is audit.log.1 and a new one begins; 0: it grows")
	flags.IntVar(&s.auditKeep, "audit-keep", 8, "the `number` of older audit logs that stay; the oldest goes")
	flags.StringVar(&s.reads, "reads", "consistency", "what is `read`: consistency, what was written before; or low-latency, what this homeserver knows, also while etcd does not answer")
	flags.StringVar(&s.files.Cert, "cert", "", "the certificate, a PEM `file`, read again when it has changed")
	flags.StringVar(&s.files.Key, "key", "", "its key, a PEM `file`")
	flags.BoolVarP(&s.verbose, "verbose", "v", false, "log what happens")
	return cmd
}

func (s *authorityServe) serve(cmd *cobra.Command, std streams) error {
	o, err := s.options(std)
	if err != nil {
		return badUsage(err)
	}
	if err := o.Validate(); err != nil {
		return badUsage(err)
	}
	return failed(homeserver.Run(cmd.Context(), o))
}

func (s *authorityServe) options(std streams) (o homeserver.Options, err error) {
	access, addr, err := monitor.AccessOf(s.listen)
	if err != nil {
		return o, fmt.Errorf("--listen: %w", err)
	}
	favors := map[string]store.Favor{"consistency": store.Consistency, "low-latency": store.LowLatency}
	favor, known := favors[s.reads]
	switch {
	case !known:
		return o, fmt.Errorf("--reads is %q; use consistency or low-latency", s.reads)
	case s.patience <= 0 || s.skew <= 0:
		return o, fmt.Errorf("--patience is %v and --skew is %v; use durations such as 30s", s.patience, s.skew)
	case s.auditMiB < 0 || s.auditMiB > 1<<20 || s.auditKeep < 1 || s.auditKeep > 1000:
		return o, fmt.Errorf("--audit-mib is %d and --audit-keep is %d; use 0 to 1048576, and 1 to 1000", s.auditMiB, s.auditKeep)
	case s.rate <= 0:
		return o, fmt.Errorf("--rate is %v; use a number of requests a second", s.rate)
	}
	token := ""
	if s.tokenFile != "" {
		text, err := os.ReadFile(s.tokenFile)
		if err != nil {
			return o, fmt.Errorf("--admin-token-file cannot be read: %w", err)
		}
		token = strings.TrimSpace(string(text))
		if err := home.CheckToken(token); err != nil {
			return o, fmt.Errorf("--admin-token-file %s: %w", s.tokenFile, err)
		}
	}
	neighbours, err := s.neighbours()
	if err != nil {
		return o, err
	}
	return homeserver.Options{
		Neighbours: neighbours, CertFile: s.homeserverCert,
		Home:   home.Config{Instance: s.instance, Name: s.name, Path: s.path, Patience: metasim.Time(s.patience), Skew: metasim.Time(s.skew)},
		Listen: addr, Outside: access == monitor.Outside, Certificate: s.files, Dir: s.data, Etcd: s.etcd, Favor: favor, Rate: s.rate, Token: token,
		AuditBytes: s.auditMiB << 20, AuditKeep: s.auditKeep,
		Log:   newLogger(std.err, s.verbose),
		Ready: func(url, token string) error { return s.ready(url, token, std) },
	}, nil
}

// neighbours are the other homeservers that the flags name.
func (s *authorityServe) neighbours() (map[string]homeserver.Neighbour, error) {
	all := map[string]homeserver.Neighbour{}
	for _, text := range s.homeservers {
		name, at, ok := strings.Cut(text, "=")
		if !ok || name == "" || at == "" {
			return nil, fmt.Errorf("--homeserver is %q; write NAME=URL or NAME=FILE", text)
		}
		all[name] = homeserver.Neighbour{At: at}
	}
	for _, text := range s.tokens {
		name, file, ok := strings.Cut(text, "=")
		n, known := all[name]
		if !ok || !known || file == "" {
			return nil, fmt.Errorf("--homeserver-token is %q; write NAME=FILE, with the name of a --homeserver", text)
		}
		n.TokenFile = file
		all[name] = n
	}
	for name, n := range all {
		if n.TokenFile == "" {
			return nil, fmt.Errorf("--homeserver %s has no token; have an admin of %s make an account %s, and name the file with its token: --homeserver-token %s=FILE", name, name, s.name, name)
		}
	}
	return all, nil
}

// ready tells where it can be asked, and the token of the first account, which nobody is told again.
func (s *authorityServe) ready(url, token string, std streams) error {
	fmt.Fprintf(std.err, "homeserver: %s\n", url)
	if token != "" {
		fmt.Fprintf(std.err, "admin token: %s\n", token)
	}
	if s.readyFile == "" {
		return nil
	}
	if err := atomicfile.Write(s.readyFile, []byte(url+"\n"), 0o600); err != nil {
		return errors.Join(errors.New("the ready file cannot be written; name a file in a directory that exists"), err)
	}
	return nil
}
