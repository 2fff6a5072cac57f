package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"metasim/federates/authority/homeclient"
	"metasim/federates/authority/transfer"
)

// askedHome has the flags that say which homeserver is asked, and by whom.
type askedHome struct{ at, tokenFile, instance, certFile string }

func (h *askedHome) add(cmd *cobra.Command, what string) {
	flags := cmd.Flags()
	flags.StringVar(&h.at, "home", "", what+": its URL, or the file of its --ready-file")
	flags.StringVar(&h.tokenFile, "home-token-file", "", "the `file` with the token of the account that asks")
	flags.StringVar(&h.certFile, "home-cert", "", "who has signed the certificate of the homeserver, or that: a PEM `file` (default: whom the system trusts)")
	flags.StringVar(&h.instance, "instance", "metasim", "the logical instance that is meant, a `name`: a homeserver of another one refuses")
}

// client returns what asks it.
func (h *askedHome) client() (*homeclient.Client, error) {
	c, err := homeclient.New(homeclient.Config{At: h.at, TokenFile: h.tokenFile, Instance: h.instance, CertFile: h.certFile})
	if err == nil && h.tokenFile == "" {
		err = errors.New("--home-token-file is missing; name the file with the token of an account")
	}
	return c, badUsage(err)
}

// authorityAsk has the flags of the commands that ask a homeserver.
type authorityAsk struct {
	home         askedHome
	noWait, json bool
	client       *homeclient.Client
}

// An askedEntity is an entity as a homeserver answers.
type askedEntity struct {
	ID string `json:"id"`
	transfer.Record
	Born transfer.Sequence `json:"born"`
}

// An askedRequest is a request that a master answers.
type askedRequest struct {
	Request   uint64            `json:"request"`
	Entity    string            `json:"entity"`
	Requester string            `json:"requester"`
	Owner     string            `json:"owner"`
	Epoch     transfer.Sequence `json:"epoch"`
	AskedNS   int64             `json:"asked_ns"`
	UntilNS   int64             `json:"until_ns"`
	Status    string            `json:"status"`
	Reason    transfer.Reason   `json:"reason,omitempty"`
}

func (a *authorityAsk) command(use, short, long, example string, args cobra.PositionalArgs, do func(cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args, Example: example,
		Long: long + "\n\nWho asks is the account whose token --home-token-file has.\n\n" +
			"Exit status: 0 it was done; 1 the homeserver refuses, and says why, or it cannot be asked; 2 bad usage.",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if a.client, err = a.home.client(); err != nil {
				return err
			}
			return failed(do(cmd, args))
		},
	}
	a.home.add(cmd, "the `homeserver`")
	cmd.Flags().BoolVar(&a.json, "json", false, "print what the homeserver answers, as JSON")
	addDefaults(cmd)
	return cmd
}

func newAuthorityList(std streams) *cobra.Command {
	var a authorityAsk
	return a.command("list [ENTITY]", "Say who owns what, and who is the master by which rule",
		"Say of each entity of a homeserver, or of one, who owns it, who is its master, by which rule it gets another owner, and the number of this ownership.",
		"  metasim authority list --home url --home-token-file token", between(0, 1, "at most one entity"),
		func(cmd *cobra.Command, args []string) error { return a.list(cmd.Context(), std, args) })
}

func newAuthorityTake(std streams) *cobra.Command {
	var a authorityAsk
	cmd := a.command("take ENTITY", "Ask a homeserver that the account becomes the owner of an entity",
		"Ask a homeserver that the account becomes the owner of an entity, as the rule of the entity has it. Under ask it waits for what the master says.",
		"  metasim authority take ball --home url --home-token-file sim-b.token", exactly(1, "one entity"),
		func(cmd *cobra.Command, args []string) error {
			return a.own(cmd.Context(), std, args[0], map[string]any{})
		})
	cmd.Flags().BoolVar(&a.noWait, "no-wait", false, "do not wait for what the master says")
	return cmd
}

func newAuthorityGive(std streams) *cobra.Command {
	var a authorityAsk
	cmd := a.command("give ENTITY SERVER", "Ask a homeserver that another server becomes the owner of an entity of the account",
		"Ask a homeserver that another server becomes the owner of an entity that the account owns. Under ask it waits for what the master says.",
		"  metasim authority give ball sim-b --home url --home-token-file sim-a.token", exactly(2, "an entity and a server"),
		func(cmd *cobra.Command, args []string) error {
			return a.own(cmd.Context(), std, args[0], map[string]any{"owner": args[1]})
		})
	cmd.Flags().BoolVar(&a.noWait, "no-wait", false, "do not wait for what the master says")
	return cmd
}

func newAuthorityRule(std streams) *cobra.Command {
	var a authorityAsk
	return a.command("rule ENTITY deny|ask|allow", "Set the rule of an entity, as its master",
		"Set the rule by which an entity gets another owner. Only its master does.\n\n"+
			"deny: the master becomes the owner, or whom the master gives it to. ask: whom the master allows when it is asked. allow: who asks; the last one who asks has the entity.",
		"  metasim authority rule ball ask --home url --home-token-file boss.token", exactly(2, "an entity and a rule"),
		func(cmd *cobra.Command, args []string) error { return a.rule(cmd.Context(), std, args[0], args[1]) })
}

func newAuthorityAnswer(std streams) *cobra.Command {
	var a authorityAsk
	arguments := func(cmd *cobra.Command, args []string) error {
		if err := exactly(2, "an entity, and yes or no")(cmd, args); err != nil {
			return err
		}
		if args[1] != "yes" && args[1] != "no" {
			return fmt.Errorf("the answer is %q; say yes or no", args[1])
		}
		return nil
	}
	return a.command("answer ENTITY yes|no", "Answer who asks for an entity, as its master",
		"Answer the requests for an entity that wait for its master, the oldest first.",
		"  metasim authority answer ball yes --home url --home-token-file boss.token", arguments,
		func(cmd *cobra.Command, args []string) error { return a.answer(cmd.Context(), std, args[0], args[1]) })
}

func entityPath(entity string) string { return "/v1/entities/" + url.PathEscape(entity) }

func (a *authorityAsk) list(ctx context.Context, std streams, args []string) error {
	all := []askedEntity{}
	if len(args) == 1 {
		all = append(all, askedEntity{})
		if _, err := a.client.Do(ctx, homeclient.Request{Method: "GET", Path: entityPath(args[0])}, nil, &all[0]); err != nil {
			return err
		}
	} else {
		for after := ""; ; {
			var page struct {
				Items []askedEntity `json:"items"`
				Next  string        `json:"next"`
			}
			query := url.Values{"limit": {"1000"}}
			if after != "" {
				query.Set("after", after)
			}
			if _, err := a.client.Do(ctx, homeclient.Request{Method: "GET", Path: "/v1/entities", Query: query.Encode()}, nil, &page); err != nil {
				return err
			}
			all = append(all, page.Items...)
			if after = page.Next; after == "" {
				break
			}
		}
	}
	if a.json {
		return printJSON(std.out, all)
	}
	t := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ENTITY\tOWNER\tMASTER\tRULE\tEPOCH")
	for _, e := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\n", e.ID, e.Owner, cmp.Or(e.Master, "-"), e.Rule, e.Epoch)
	}
	return t.Flush()
}

// own asks for another owner.
func (a *authorityAsk) own(ctx context.Context, std streams, entity string, wish map[string]any) error {
	var got askedRequest // or an ownership, which has its owner and its epoch
	status, err := a.client.Do(ctx, homeclient.Request{Method: "PUT", Path: entityPath(entity) + "/ownership"}, wish, &got)
	if err != nil {
		return err
	}
	got.Entity = entity
	asked := status == 202
	if asked && !a.noWait {
		fmt.Fprintf(std.err, "request %d waits for the master of %s until %s\n", got.Request, entity, time.Unix(0, got.UntilNS).Format(time.TimeOnly))
		if got, err = a.await(ctx, got); err != nil {
			return err
		}
	}
	switch {
	case a.json && asked:
		err = printJSON(std.out, got)
	case a.json:
		err = printJSON(std.out, map[string]any{"owner": got.Owner, "epoch": got.Epoch})
	case got.Status == "pending":
		fmt.Fprintf(std.out, "request %d waits for the master of %s\n", got.Request, entity)
	case got.Status != "refused":
		fmt.Fprintf(std.out, "%s owns %s (epoch %d)\n", got.Owner, entity, got.Epoch)
	}
	if got.Status == "refused" {
		err = errors.Join(err, fmt.Errorf("%s does not become the owner of %s (%s); the owner is the same", got.Owner, entity, got.Reason))
	}
	return err
}

// await waits until a master has answered, or has been waited for long enough.
func (a *authorityAsk) await(ctx context.Context, asked askedRequest) (askedRequest, error) {
	path := fmt.Sprintf("%s/ownership/requests/%d", entityPath(asked.Entity), asked.Request)
	for asked.Status == "pending" {
		select {
		case <-ctx.Done():
			return asked, fmt.Errorf("the request %d waits on: %w", asked.Request, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
		if _, err := a.client.Do(ctx, homeclient.Request{Method: "GET", Path: path}, nil, &asked); err != nil {
			return asked, err
		}
	}
	return asked, nil
}

func (a *authorityAsk) rule(ctx context.Context, std streams, entity, rule string) error {
	var got struct {
		Rule transfer.Rule `json:"rule"`
	}
	if _, err := a.client.Do(ctx, homeclient.Request{Method: "PUT", Path: entityPath(entity) + "/rule"}, map[string]any{"rule": rule}, &got); err != nil {
		return err
	}
	if a.json {
		return printJSON(std.out, got)
	}
	fmt.Fprintf(std.out, "the rule of %s is %s\n", entity, got.Rule)
	return nil
}

func (a *authorityAsk) answer(ctx context.Context, std streams, entity, answer string) error {
	path := entityPath(entity) + "/ownership/requests"
	var page struct {
		Items []askedRequest `json:"items"`
	}
	if _, err := a.client.Do(ctx, homeclient.Request{Method: "GET", Path: path}, nil, &page); err != nil {
		return err
	}
	at := slices.IndexFunc(page.Items, func(r askedRequest) bool { return r.Status == "pending" })
	if at < 0 {
		return fmt.Errorf("nobody waits for the master of %s; 'metasim authority list %s' says who owns it", entity, entity)
	}
	var got askedRequest
	request := homeclient.Request{Method: "PUT", Path: fmt.Sprintf("%s/%d", path, page.Items[at].Request)}
	if _, err := a.client.Do(ctx, request, map[string]any{"answer": answer}, &got); err != nil {
		return err
	}
	if a.json {
		return printJSON(std.out, got)
	}
	fmt.Fprintf(std.out, "request %d of %s, that %s owns %s, is %s\n", got.Request, got.Requester, got.Owner, entity, got.Status)
	return nil
}
