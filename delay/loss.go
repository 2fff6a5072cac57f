package delay

import (
	"cmp"
	"math/rand/v2"
)

// A Loss says which messages do not arrive: [Bernoulli] or [GilbertElliott]. The set is closed.
type Loss interface {
	// validate names the first contradiction, as a *FieldError.
	validate() error
	// dropper returns a function that decides about one message after the other, in its initial state. It takes what
	// it draws from src.
	dropper(src rand.Source) dropper
}

// A dropper reports whether the next message is lost.
type dropper func() bool

// Bernoulli loses each message with this probability, from 0 to 1, whatever happened to the others.
type Bernoulli float64

func (b Bernoulli) validate() error { return checkProbability("loss", float64(b)) }

func (b Bernoulli) dropper(src rand.Source) dropper {
	return func() bool { return unit(src) < float64(b) }
}

// GilbertElliott loses messages in bursts: a link is good or bad, loses with a probability that depends on which, and
// may change between one message and the next. It is good for the first message. It changes with messages, not with
// time: the mean length of a bad spell is 1/BadToGood messages, and in the long run the link is bad for
// GoodToBad/(GoodToBad+BadToGood) of them. (Gilbert 1960, with LossGood 0; Elliott 1963.)
type GilbertElliott struct {
	GoodToBad float64 // probability, from 0 to 1, of each change from good to bad
	BadToGood float64 // probability, from 0 to 1; 0: once bad, it stays so
	LossGood  float64 // probability, from 0 to 1, that a message is lost while good; 0 is usual
	LossBad   float64 // probability, from 0 to 1, that a message is lost while bad; 1 is usual
}

func (g GilbertElliott) validate() error {
	return cmp.Or(
		checkProbability("loss.p_good_to_bad", g.GoodToBad),
		checkProbability("loss.p_bad_to_good", g.BadToGood),
		checkProbability("loss.loss_good", g.LossGood),
		checkProbability("loss.loss_bad", g.LossBad),
	)
}

func (g GilbertElliott) dropper(src rand.Source) dropper {
	bad := false
	return func() bool {
		loss, change := g.LossGood, g.GoodToBad
		if bad {
			loss, change = g.LossBad, g.BadToGood
		}
		lost := unit(src) < loss
		if unit(src) < change {
			bad = !bad
		}
		return lost
	}
}
