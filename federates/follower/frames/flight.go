package frames

// settle notes that a frame need not come back from a member any more.
func (f *flight) settle(i int, m *member) {
	if f.owing[i] {
		f.owing[i] = false
		f.owed--
		m.owes--
	}
}

// torn reports whether parts of a picture show different states. A part that did not come, or that no node has hashed, says nothing.
func (f *flight) torn() bool {
	var shown [32]byte
	for _, b := range f.back {
		if b.State == [32]byte{} {
			continue
		}
		if shown != [32]byte{} && shown != b.State {
			return true
		}
		shown = b.State
	}
	return false
}
