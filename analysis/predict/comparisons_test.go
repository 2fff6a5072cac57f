package predict_test

import (
	"fmt"
	"testing"
	"time"
)

// A comparison is a run, and other runs that differ from it by a change that can be predicted.
type comparison struct {
	name    string
	base    job
	changes []change
}

// A change is a change that is predicted, and the run in which it is real.
type change struct {
	text  string
	rerun job
	brief bool // also in the short list
}

// How long the runs are.
const (
	brief = 1
	full  = 10
)

// comparisons returns those of the scenarios that ship, with the clients in this process or each in a process of its own. If a changed delay
// means less or more simulated time for the same work, the rerun has another end.
func comparisons(t testing.TB, transport string, length int) []comparison {
	t.Helper()
	if transport != "mem" {
		length = max(1, length/5)
	}
	until := func(d time.Duration) string { return fmt.Sprintf("until=%dms", d.Milliseconds()*int64(length)) }
	shipped := func(name string, set ...string) job { return job{scenario: name, transport: transport, set: set} }
	all := []comparison{}
	over := func(base job, to string) change {
		rerun := base
		rerun.transport = to
		return change{text: "transport=" + to, rerun: rerun}
	}
	add := func(name string, base job, changes ...change) {
		if transport != "mem" {
			changes = append(changes, over(base, "mem"), over(base, "shm"), over(base, "tcp"))
		}
		changes = append(changes, change{text: "cores=1", rerun: base.on(1)})
		all = append(all, comparison{name, base, changes})
		if length != brief {
			all = append(all, comparison{name + ", one core", base.on(1), []change{{text: "cores=2", rerun: base}}})
		}
	}
	b := shipped("authority")
	add("authority", b, change{"link(*->*).delay=8ms", b.with("links[0].delay=8ms"), true})

	b = shipped("cart-pole", until(10*time.Second))
	uniform := func(ms int, brief bool) change {
		rerun := b.with(fmt.Sprintf("links[0].delay.uniform.min=%dms", ms), fmt.Sprintf("links[0].delay.uniform.max=%dms", ms+1))
		return change{fmt.Sprintf("link(*->*).delay=%dms", ms), rerun, brief}
	}
	add("cart-pole", b, uniform(0, true), uniform(3, false), uniform(20, false))

	addComposed(add, shipped, until(10*time.Second))

	b = shipped("lcmlog-replay", "clients.player.with.file="+logged(t, 4000*length))
	add("lcmlog-replay", b, change{"link(player->near).delay=0s", b.with("links[0].delay=0s"), false},
		change{"link(player->far).delay=1s", b.with("links[1].delay.normal.mean=1.01s", "links[1].delay.normal.min=1s"), true})

	if transport == "mem" { // otherwise it would be two hundred processes
		b = shipped("mix-200", until(100*time.Millisecond))
		add("mix-200", b, change{"link(*->*:FAST).delay=0s", b.with("links[1].delay.gamma.min=0s", "links[1].delay.gamma.mean=3ms"), false},
			change{"link(*->*:BURST).delay=20ms", b.with("links[4].delay=20ms", "links[5].delay=20ms"), false},
			change{"link(*->*:phold*).delay=0s", b.with("links[13].delay=0s"), true})
	}
	b = shipped("phold", until(400*time.Millisecond))
	add("phold", b, change{"link(*->*).delay=0s", b.with("links[0].delay=0s"), false},
		change{"link(*->*).delay=200us", b.with("links[0].delay=200us"), false})
	add("phold, delay 200us", b.with("links[0].delay=200us"), change{"link(*->*).delay=1ms", b, true})

	b = shipped("phold", until(40*time.Millisecond), "clients.phold.with.grain=100us")
	add("phold, grain 100us", b, change{"link(*->*).delay=0s", b.with("links[0].delay=0s"), false},
		change{"link(*->*).delay=200us", b.with("links[0].delay=200us"), false},
		change{"client(*).speed=2", b.with("clients.phold.with.grain=50us"), true})

	b = shipped("ping-pong", fmt.Sprintf("clients.pinger.with.rounds=%d", 2000*length))
	add("ping-pong", b, change{"link(pinger->ponger).delay=0s", b.with("links[0].delay=0s"), true},
		change{"link(pinger->ponger).delay=50ms", b.with("links[0].delay=50ms"), false})

	b = shipped("ring", until(4*time.Second))
	add("ring", b, change{"link(*->*:HOP_0).delay=0s", b.with("links[1].delay=0s", until(2*time.Second)), true},
		change{"link(*->*:HOP_0).delay=50ms", b.with("links[1].delay=50ms", until(22*time.Second)), false})

	b = shipped("star", fmt.Sprintf("clients.beacon.with.count=%d", 300*length))
	add("star", b, change{"link(*->hub).delay=0s", b.with("links[0].delay=0s", "links[1].delay=0s"), true},
		change{"link(*->hub).delay=20ms", b.with("links[0].delay=20ms", "links[1].delay=20ms"), false},
		change{"link(hub->*).delay=0s", b.with("links[2].delay.uniform.min=0s", "links[2].delay.uniform.max=3ms",
			"links[3].delay.uniform.min=0s", "links[3].delay.uniform.max=3ms"), false})
	return all
}

// addComposed adds the scenarios with others inside, and the one that is inside.
func addComposed(add func(name string, base job, changes ...change), shipped func(name string, set ...string) job, until string) {
	b := shipped("cell", until)
	add("cell", b, change{"link(feeder->arm).delay=1ms", b.with("links[1].delay.uniform.min=1ms", "links[1].delay.uniform.max=2ms"), true})

	b = shipped("cells", until)
	add("cells", b, change{"link(cell-1/arm->conveyor).delay=1ms", b.with("links[1].delay=1ms"), true})
}
