package flow

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"metasim/internal/suggest"
	"metasim/metasim"
)

// A Declaration is what a client said when it joined.
type Declaration struct {
	Client                      string
	Publications, Subscriptions []string
	// Together are groups of subscriptions: if somebody publishes for one of a group, none of it is a loose end. See scope.Together.
	Together [][]string
	// Bridge: the client takes part for programs outside of the run, of which nothing is known. What it declares in vain is told only
	// if it is probably misspelt.
	Bridge bool
}

// A LooseEnd is a subscription that no client publishes, or a channel that no client subscribes to.
type LooseEnd struct {
	Name       string   // the channel, or the subscription
	Clients    []string // who publishes the channel, or who subscribes, in the order of the declarations
	Unheard    bool     // it is a channel
	Impossible bool     // it is a subscription that matches no name at all
	Meant      string   // what was probably meant; empty: not known
}

// LooseEnds finds what the clients of a run declared in vain: subscriptions first, then channels, both in order of name. A subscription
// to everything is never a loose end. complete is false if there are too many expressions and channels to look at.
func LooseEnds(clients []Declaration) (ends []LooseEnd, complete bool) {
	published, subscribed := byName(clients, publications), byName(clients, subscriptions)
	channels := published.names()
	patterns := make(map[string]metasim.Pattern, len(subscribed))
	var exprs []metasim.Pattern
	for _, text := range subscribed.names() {
		p, err := metasim.CompilePattern(text)
		if err != nil {
			continue // nobody joins with it
		}
		if patterns[text] = p; !p.IsName() {
			exprs = append(exprs, p)
		}
	}
	if matchCost*len(exprs)*len(channels) > effort {
		return nil, false
	}
	listensToAll := func(p metasim.Pattern) bool { return !p.IsName() && p.Match(noName) }
	known := map[string]bool{}
	answered := func(text string) bool { // something is heard by this subscription
		if is, looked := known[text]; looked {
			return is
		}
		p, ok := patterns[text]
		_, found := published[text]
		known[text] = found || text == everything || ok && (listensToAll(p) || !p.IsName() && slices.ContainsFunc(channels, p.Match))
		return known[text]
	}
	guess := guesser{left: effort}
	named := map[string]bool{} // channels that were probably meant
	for _, text := range subscribed.names() {
		p, ok := patterns[text]
		if !ok || answered(text) {
			continue
		}
		subscribed[text] = slices.DeleteFunc(subscribed[text], func(i int) bool {
			return slices.ContainsFunc(clients[i].Together, func(group []string) bool { return slices.Contains(group, text) && slices.ContainsFunc(group, answered) })
		})
		if len(subscribed[text]) == 0 {
			continue
		}
		end := LooseEnd{Name: text, Meant: guess.subscription(p, channels, subscribed.knows(text)), Impossible: p.Impossible()}
		named[end.Meant] = true
		ends = subscribed.add(ends, end, clients)
	}
	slices.SortStableFunc(exprs, func(a, b metasim.Pattern) int { return rank(listensToAll(a)) - rank(listensToAll(b)) })
	names := slices.DeleteFunc(subscribed.names(), func(text string) bool { return !patterns[text].IsName() })
	for _, channel := range channels {
		heard := func(p metasim.Pattern) bool { return p.Match(channel) }
		if _, found := subscribed[channel]; found || named[channel] || slices.ContainsFunc(exprs, heard) {
			continue
		}
		ends = published.add(ends, LooseEnd{Name: channel, Unheard: true, Meant: guess.name(channel, names, published.knows(channel))}, clients)
	}
	return ends, true
}

// matchCost is the cost of trying an expression on a name. Looking at a name costs 1.
const matchCost = 10

// noName is a channel that nobody asks for by its name.
const noName = "no channel has this name"

// everything is the subscription to all channels.
const everything = ".*"

// rank puts true first.
func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// A guesser looks for what was probably meant. Where there is too much to look at, it guesses nothing.
type guesser struct{ left int } // of effort

// guessCost is the cost of comparing two names. Looking at a name costs 1.
const guessCost = 5

// subscription returns the subscription that was probably meant by one that matches none of the channels; empty if nothing is near.
func (g *guesser) subscription(p metasim.Pattern, channels []string, known func(string) bool) string {
	text := p.Text()
	if p.IsName() {
		return g.name(text, channels, known)
	}
	// In a shell * stands for any characters; here it repeats what is before it.
	if g.left -= matchCost * len(channels); g.left < 0 {
		return ""
	}
	if like := strings.ReplaceAll(strings.ReplaceAll(text, ".*", "*"), "*", ".*"); like != text {
		if q, err := metasim.CompilePattern(like); err == nil && slices.ContainsFunc(channels, q.Match) {
			return like
		}
	}
	begin, all := strings.CutSuffix(text, ".*")
	if q, err := metasim.CompilePattern(begin); !all || err != nil || !q.IsName() {
		return ""
	}
	var begins []string
	for _, channel := range channels {
		begins = append(begins, channel[:min(len(begin), len(channel))])
	}
	if begin = g.name(begin, begins, known); begin == "" {
		return ""
	}
	return begin + ".*"
}

// name returns the name that was probably meant: it differs in a few letters, or has the same letters in another order, and whoever wrote
// the other one did not declare it too.
func (g *guesser) name(name string, names []string, known func(string) bool) string {
	const most = 2 // edits: two letters that changed places
	if g.left -= guessCost * len(names); g.left < 0 {
		return ""
	}
	others := slices.DeleteFunc(slices.Clone(names), func(other string) bool {
		return max(len(other)-len(name), len(name)-len(other)) > most || siblings(name, other) || known(other)
	})
	if meant := suggest.Near(name, others, min(most, (len(name)-1)/2)); meant != "" {
		return meant
	}
	letters := func(s string) []byte { return slices.Sorted(slices.Values([]byte(s))) }
	same := slices.DeleteFunc(others, func(other string) bool { return !slices.Equal(letters(other), letters(name)) })
	return suggest.Near(name, same, most)
}

// siblings reports whether two names probably differ on purpose: only in numbers, or in words of one or two letters, as WHEEL_FL_1 and
// WHEEL_FR_2 do.
func siblings(a, b string) bool {
	differ := numbers(a) != numbers(b)
	return slices.EqualFunc(words(a), words(b), func(x, y string) bool {
		differ = differ || !strings.EqualFold(x, y)
		return strings.EqualFold(x, y) || len(x) <= 2 && len(y) <= 2
	}) && differ
}

func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
}

func numbers(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsDigit(r) }), " ")
}

// An owners says which declarations have a name in them.
type owners map[string][]int

func publications(d *Declaration) []string  { return d.Publications }
func subscriptions(d *Declaration) []string { return d.Subscriptions }

func byName(clients []Declaration, names func(*Declaration) []string) owners {
	o := owners{}
	for i := range clients {
		for _, name := range names(&clients[i]) {
			if have := o[name]; len(have) == 0 || have[len(have)-1] != i {
				o[name] = append(have, i)
			}
		}
	}
	return o
}

func (o owners) names() []string { return slices.Sorted(maps.Keys(o)) }

// knows returns whether the first owner of a name declares another one as well: then it has not mistaken one for the other.
func (o owners) knows(name string) func(other string) bool {
	first := o[name][0]
	return func(other string) bool {
		_, found := slices.BinarySearch(o[other], first)
		return found
	}
}

// add adds a loose end, if it is one of a client that says more than a bridge.
func (o owners) add(ends []LooseEnd, end LooseEnd, clients []Declaration) []LooseEnd {
	for _, i := range o[end.Name] {
		if !clients[i].Bridge || end.Meant != "" {
			end.Clients = append(end.Clients, clients[i].Client)
		}
	}
	if end.Clients == nil {
		return ends
	}
	return append(ends, end)
}
