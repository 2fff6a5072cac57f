package journal

import (
	"bytes"

	"metasim/metasim"
)

// A dispatcher that goes through a recorded run again comes to the effects itself. So it needs the events of the journal, and the effects only to
// compare: their bytes are enough for that, and to encode the new ones costs a fraction of decoding the old ones.

// SkipEffects has a reader give entries without their effects, before the first one: Recorded returns them. Events and effects are not checked then:
// the dispatcher refuses an event that breaks a rule, and Missing finds effects that it does not come to.
func (r *Reader) SkipEffects() { r.dec.inputs = true }

// Recorded returns the effects of the last entry of a reader that skips them, as they were written.
func (r *Reader) Recorded() []byte { return r.dec.recorded }

// A Matcher compares the effects of a dispatcher with those that were recorded.
type Matcher struct{ encoded []byte }

// Missing returns those effects that follow the recorded ones, as an entry may have been cut off. same is false if others were recorded.
func (m *Matcher) Missing(recorded []byte, effects []metasim.Effect) (missing []metasim.Effect, same bool) {
	m.encoded = m.encoded[:0]
	for len(effects) > 0 && len(m.encoded) < len(recorded) {
		var err error
		if m.encoded, err = AppendEffect(m.encoded, effects[0]); err != nil {
			return nil, false
		}
		effects = effects[1:]
	}
	return effects, bytes.Equal(m.encoded, recorded)
}
