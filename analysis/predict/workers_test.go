package predict_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Scenarios like those that ship, whose clients compute.
const (
	ringAtWork = `
name: ring
until: 1s
clients:
  - {name: node-0, run: [BIN, work, -first, -in, HOP_0, -out, HOP_1, -rounds, '2000']}
  - {name: node-1, run: [BIN, work, -in, HOP_1, -out, HOP_2, -rounds, '2000']}
  - {name: node-2, run: [BIN, work, -in, HOP_2, -out, HOP_3, -rounds, '2000']}
  - {name: node-3, run: [BIN, work, -in, HOP_3, -out, HOP_0, -rounds, '8000']}
links:
  - {delay: 1ms}
`
	starAtWork = `
name: star
until: 1s
clients:
  - {name: hub, run: [BIN, work, -in, UP, -out, DOWN, -rounds, '1000', -after, 4ms]}
  - {name: beacon-0, run: [BIN, work, -out, UP, -period, 10ms, -rounds, '2000']}
  - {name: beacon-1, run: [BIN, work, -out, UP, -period, 10ms, -rounds, '2000']}
  - {name: beacon-2, run: [BIN, work, -out, UP, -period, 10ms, -rounds, '2000']}
  - {name: listener-0, run: [BIN, work, -in, DOWN, -period, 1ms, -rounds, '300']}
  - {name: listener-1, run: [BIN, work, -in, DOWN, -period, 1ms, -rounds, '300']}
links:
  - {to: hub, delay: 2ms}
  - {from: hub, delay: 1ms}
`
	cartAtWork = `
name: cart
until: 2s
clients:
  - {name: plant, run: [BIN, work, -in, FORCE, -out, MEASURED, -period, 1ms, -send, '10', -rounds, '1000']}
  - {name: estimator, run: [BIN, work, -in, MEASURED, -out, ESTIMATE, -rounds, '2000']}
  - {name: controller, run: [BIN, work, -in, ESTIMATE, -out, FORCE, -period, 10ms, -rounds, '3000']}
links:
  - {delay: 5ms}
`
	turnsAtWork = `
name: turns
until: 900ms
clients:
  - {name: a, run: [BIN, work, -in, B, -out, A, -period, 2ms, -send, '10', -rounds, '2000']}
  - {name: b, run: [BIN, work, -in, A, -out, B, -period, 3ms, -send, '10', -rounds, '2000']}
`
	meetingAtWork = `
name: meeting
until: 900ms
clients:
  - {name: a, run: [BIN, work, -in, DOWN, -out, UP, -period, 2ms, -send, '10', -rounds, '2000']}
  - {name: b, run: [BIN, work, -in, DOWN, -out, UP, -period, 3ms, -send, '10', -rounds, '2000']}
  - {name: chair, run: [BIN, work, -in, UP, -out, DOWN, -after, 4ms]}
`
)

// workers returns the comparisons of these scenarios. Each client is a process.
func workers(t testing.TB) []comparison {
	t.Helper()
	at := func(name, text string) job { return job{scenario: name, text: text, transport: "unix"} }
	instead := func(j job, what, by string) job {
		require.Contains(t, j.text, what)
		j.text = strings.ReplaceAll(j.text, what, by)
		return j
	}
	ring, star, cart := at("ring", ringAtWork), at("star", starAtWork), at("cart", cartAtWork)
	turns, meeting := at("turns", turnsAtWork), at("meeting", meetingAtWork)
	return []comparison{
		{"ring at work", ring, []change{
			{"client(node-3).speed=4", instead(ring, "'8000'", "'2000'"), false},
			{"client(node-3).speed=0.5", instead(ring, "'8000'", "'16000'"), false},
			{"cores=1", ring.on(1), false},
		}},
		{"star at work", star, []change{
			{"client(hub).speed=2", instead(star, "'1000'", "'500'"), false},
			{"client(beacon-*).speed=0.5", instead(star, "'2000'", "'4000'"), false},
			{"link(hub->*).delay=0s", star.with("links[1].delay=0s"), false},
			{"link(hub->*).delay=5ms", star.with("links[1].delay=5ms"), false},
			{"cores=1", star.on(1), false},
		}},
		{"star at work, one core", star.on(1), []change{{"cores=2", star, false}}},
		{"cart at work", cart, []change{
			{"client(plant).speed=2", instead(cart, "'1000'", "'500'"), false},
			{"client(controller).speed=0.25", instead(cart, "'3000'", "'12000'"), false},
			{"link(*->*).delay=0s", cart.with("links[0].delay=0s"), false},
			{"link(*->*).delay=12ms", cart.with("links[0].delay=12ms"), false},
			{"cores=1", cart.on(1), false},
		}},
		{"cart at work, one core", cart.on(1), []change{{"cores=2", cart, false}}},
		{"turns at work", turns, []change{
			{"client(*).promise=all", instead(turns, "-rounds", "-promise, -rounds"), false},
			{"link(*->*).delay=10ms", turns.with("links=[{delay: 10ms}]"), false},
		}},
		{"meeting at work", meeting, []change{
			{"client(chair).reaction=4ms", instead(meeting, "4ms]", "4ms, -declare]"), false},
		}},
	}
}
