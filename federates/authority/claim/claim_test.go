package claim

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the truth table")

// Every number is newer than the one before it, around the end too, and none is newer than itself or than a later one.
func TestSequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Sequence(rapid.Uint16().Draw(t, "s"))
		later := s + Sequence(rapid.IntRange(1, 1<<15-1).Draw(t, "more"))
		require.True(t, later.NewerThan(s))
		require.False(t, s.NewerThan(later))
		require.False(t, s.NewerThan(s))
		require.True(t, s.Next().NewerThan(s))
	})
	require.Equal(t, Sequence(0), Sequence(65535).Next())
	require.True(t, Sequence(0).NewerThan(65535))
}

// The whole truth table of Judge: three relations of each number, four authorities on each side, both directions. It is the same around the end of the numbers.
func TestTruthTable(t *testing.T) {
	const self, sender, third = 1, 2, 3
	names := map[Index]string{Default: "default", self: "receiver", sender: "sender", third: "third"}
	relations := []string{"older", "equal", "newer"}
	table := func(base Sequence) string {
		var b strings.Builder
		for _, fromOwner := range []bool{true, false} {
			for own := range 3 {
				for touch := range 3 {
					for _, authority := range []Index{Default, self, sender, third} {
						row := []string{}
						for _, known := range []Index{Default, self, sender, third} {
							mine := Claim{Ownership: base, Touches: base, Authority: known}
							theirs := Claim{Ownership: base + Sequence(own) - 1, Touches: base + Sequence(touch) - 1, Authority: authority}
							row = append(row, fmt.Sprintf("%-8v", Judge(self, mine, sender, theirs, fromOwner)))
						}
						who := "guest"
						if fromOwner {
							who = "owner"
						}
						fmt.Fprintf(&b, "%-6s %-10s %-8s %-10s %s\n", who, relations[own], relations[touch], names[authority], strings.TrimRight(strings.Join(row, " "), " "))
					}
				}
			}
		}
		return b.String()
	}
	const head = "                                       receiver knows:\nfrom   ownership  touches  authority  default  receiver sender   third\n"
	const file = "testdata/judge.txt"
	got := head + table(1000)
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	for _, base := range []Sequence{0, 65535, 1 << 15} {
		require.Equal(t, table(1000), table(base), "around %d", base)
	}
}

// Grab, touch, release and rest change what they say, and nothing where they may not.
func TestClaims(t *testing.T) {
	const owner, guest = 1, 2
	c := Claim{Ownership: 65535, Touches: 7}
	touched, ok := c.Touch(guest, false)
	require.True(t, ok)
	require.Equal(t, Claim{Ownership: 65535, Touches: 8, Authority: guest}, touched)
	require.False(t, touched.Integrates(guest), "the owner has not confirmed it")
	_, ok = touched.Touch(owner, true)
	require.False(t, ok, "another has the authority")
	_, ok = touched.Rest(guest, false)
	require.False(t, ok, "the owner has not confirmed it")

	confirmed := touched.Take(Confirm, Claim{})
	require.True(t, confirmed.Integrates(guest))
	rested, ok := confirmed.Rest(guest, false)
	require.True(t, ok)
	require.Equal(t, Claim{Ownership: 65535, Touches: 9, Pending: true}, rested)
	require.Equal(t, Claim{Ownership: 65535, Touches: 9, Confirmed: true}, rested.Take(Accept, Claim{Ownership: 65535, Touches: 9}))

	grabbed, ok := rested.Grab(guest)
	require.True(t, ok)
	require.Equal(t, Claim{Ownership: 0, Authority: guest, Holder: guest, Confirmed: true}, grabbed)
	for _, try := range []func() (Claim, bool){
		func() (Claim, bool) { return grabbed.Grab(owner) },
		func() (Claim, bool) { return grabbed.Touch(owner, false) },
		func() (Claim, bool) { return grabbed.Rest(guest, true) },
	} {
		after, ok := try()
		require.False(t, ok)
		require.Equal(t, grabbed, after)
	}
	require.Equal(t, grabbed, grabbed.Release(owner))
	released := grabbed.Release(guest)
	require.Equal(t, Index(guest), released.Authority)
	_, ok = released.Grab(owner)
	require.True(t, ok)
}

// Whatever an owner and two guests say to each other in whatever order, at most one of them integrates, and in the end they agree.
func TestOneIntegrates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := Sequence(rapid.SampledFrom([]int{0, 65530, 1<<15 - 3}).Draw(t, "start"))
		var all [3]Claim // the owner is 0
		for i := range all {
			all[i] = Claim{Ownership: start, Touches: start}
		}
		type update struct {
			from, to int
			claim    Claim
		}
		var flying []update
		say := func(from int) {
			for to := range all {
				if from == 0 != (to == 0) {
					flying = append(flying, update{from, to, all[from]})
				}
			}
		}
		deliver := func(at int, keep bool) {
			u := flying[at]
			if !keep {
				flying = append(flying[:at:at], flying[at+1:]...)
			}
			v := Judge(Index(u.to+1), all[u.to], Index(u.from+1), u.claim, u.from == 0)
			all[u.to] = all[u.to].Take(v, u.claim)
		}
		check := func() {
			who := 0
			for i, c := range all {
				if c.Integrates(Index(i + 1)) {
					who++
				}
			}
			require.LessOrEqual(t, who, 1, "%+v", all)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			who := rapid.IntRange(0, 2).Draw(t, "who")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				all[who], _ = all[who].Touch(Index(who+1), who == 0)
			case 1:
				all[who], _ = all[who].Rest(Index(who+1), who == 0)
			case 2:
				say(who)
			default:
				if len(flying) > 0 {
					deliver(rapid.IntRange(0, len(flying)-1).Draw(t, "at"), rapid.Bool().Draw(t, "twice"))
				}
			}
			check()
		}
		flying = nil
		for range 4 { // links lose nothing any more
			for who := range all {
				say(who)
				for len(flying) > 0 {
					deliver(0, false)
					check()
				}
			}
		}
		for i := range all {
			require.Equal(t, all[0].Authority, all[i].Authority, "%+v", all)
			require.Equal(t, all[0].Touches, all[i].Touches, "%+v", all)
		}
	})
}
