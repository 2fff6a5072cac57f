package run

import (
	"cmp"
	"fmt"
	"slices"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/server"
)

// A cellResult is what came of a nested run.
type cellResult struct {
	Outcome *Outcome              // without the proxies
	Clients []server.ClientResult // likewise
	Error   string                // why there was no run at all, or how it failed; empty: it went well
}

// result makes what came of a nested run from its outcome, or from the reason why there is none.
func (c *cell) result(out *Outcome, err error) *cellResult {
	if err != nil {
		return noResult(sortedNames(&c.scenario), err)
	}
	out.Clients = slices.DeleteFunc(out.Clients, func(of ClientOutcome) bool { return slices.Contains(c.runner.part.outside, of.Name) })
	return &cellResult{Outcome: out, Clients: realClients(c.runner), Error: out.Error}
}

// noResult is the result of a nested run with these clients of which nothing is known.
func noResult(names []string, err error) *cellResult {
	r := &cellResult{Outcome: new(Outcome), Error: err.Error()}
	for _, name := range names {
		c := server.ClientResult{Name: name}
		r.Clients = append(r.Clients, c)
		r.Outcome.Clients = append(r.Outcome.Clients, ClientOutcome{Name: name, Digest: c.Digest.String(), SendsDigest: "0000000000000000", Exit: "aborted", Result: result(c.Account)})
	}
	return r
}

// failedInside says why a nested run has failed.
func failedInside(name, why string) error {
	return fmt.Errorf("the scenario inside %q: %s", name, why)
}

// merge makes the outcome of the outer run that of all, as if one dispatcher had carried them out.
func (n *nest) merge(out *Outcome, inner []*cellResult) {
	all := realClients(n.outer)
	waited := map[string]float64{} // by client inside: for how long it waited for the memory of the outer run
	results := slices.DeleteFunc(slices.Clone(out.Clients), func(c ClientOutcome) bool {
		proxy := n.owner[n.outer.id(c.Name)] != nil
		if proxy {
			waited[c.Name] = c.MemoryS
		}
		return proxy
	})
	for _, of := range inner {
		all = append(all, of.Clients...)
		for _, c := range of.Outcome.Clients {
			c.MemoryS += waited[c.Name]
			results = append(results, c)
		}
		out.HeldBytes = max(out.HeldBytes, of.Outcome.HeldBytes)
		if of.Outcome.RunDir != "" {
			out.Nested = append(out.Nested, of.Outcome.RunDir)
		}
		out.Deterministic = out.Deterministic && of.Outcome.Deterministic
		out.EndNS = max(out.EndNS, of.Outcome.EndNS)
		out.Warnings = append(out.Warnings, of.Outcome.Warnings...)
		out.Live = append(out.Live, of.Outcome.Live...)
	}
	slices.SortFunc(all, func(a, b server.ClientResult) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(results, func(a, b ClientOutcome) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(out.Live)
	out.Clients = results
	shares := func(yield func(metasim.Share) bool) {
		for _, c := range all {
			if !yield(metasim.Share{Name: c.Name, Digest: c.Digest, Sent: c.Sent, Sends: c.Sends}) {
				return
			}
		}
	}
	out.Messages = Messages{}
	var names []string
	var left [][]byte
	for _, c := range all {
		names, left = append(names, c.Name), append(left, c.Result)
		out.Messages.Sent += c.Sent
		out.Messages.Delivered += c.Delivered
		out.Messages.Dropped += c.Lost
		out.Messages.Undelivered += c.Queued - c.Delivered
	}
	out.Digests = journal.Digests{
		Digest: metasim.RunDigest(shares).String(), SendsDigest: metasim.RunSendsDigest(shares).String(), ResultsDigest: journal.ResultsDigest(names, left).String(),
	}
}

// realClients returns the results of the clients of a run that are no proxies.
func realClients(r *runner) []server.ClientResult {
	return slices.DeleteFunc(r.server.Result().Clients, func(c server.ClientResult) bool { return slices.Contains(r.part.proxies, c.Name) })
}
