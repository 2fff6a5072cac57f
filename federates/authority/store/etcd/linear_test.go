package etcd_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/store"
	"metasim/federates/authority/store/storetest"
)

// The leader of three members is killed again and again while three clients read and write, each over a member of its own: what was acknowledged is there, and
// what all of them saw is linearizable.
func TestLeaderKilled(t *testing.T) {
	c := start(t, 3)
	l, began := storetest.NewLoad(), time.Now()
	var members []*store.Store
	for i := range 3 {
		members = append(members, c.member(t, "/x/", config(fmt.Sprint(i))))
	}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i, s := range members {
		client := l.Client(1, i, i == 2)
		clients.Go(func() {
			for ctx.Err() == nil {
				client.Act(s)
			}
		})
	}
	more := func(n int64) { // so many operations have had an answer
		want := l.Done.Load() + n
		for deadline := time.Now().Add(time.Minute); l.Done.Load() < want; <-time.After(5 * time.Millisecond) {
			require.True(t, time.Now().Before(deadline), "clients go on")
		}
	}
	for round := range *kills {
		l.Round.Store(int64(round))
		more(10)
		leader := c.leader()
		c.kill(leader)
		more(10)
		c.run(leader)
		c.leader()
	}
	stop()
	clients.Wait()
	seen := l.Check(t, members[0])
	t.Logf("%d kills, %d operations, %d without an answer, %d nodes that were acknowledged, %v", *kills, seen.Operations, seen.Unknown, seen.Created, time.Since(began).Round(time.Second))
}
