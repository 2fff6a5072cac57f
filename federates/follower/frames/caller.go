package frames

// SetSync turns engine synchronisation on or off, from the next frame on.
func (d *Director) SetSync(on bool) { d.cfg.Sync = on }

// Quit ends the cluster. The director asks for no new frame. When all frames that it has asked for are done, it tells all nodes to leave.
func (d *Director) Quit() { d.cfg.Frames = min(d.cfg.Frames, d.next) }

// Wholes returns the frames that have come back from all nodes since it was asked last, as messages.
func (d *Director) Wholes() [][]byte {
	wholes := d.wholes
	d.wholes = nil
	return wholes
}

// State returns how many bytes the data of the last released frame has, and to how many nodes it goes.
func (d *Director) State() (bytes uint64, nodes int) {
	for _, m := range d.members {
		if !m.gone && m != d.lead {
			nodes++
		}
	}
	return d.size, nodes
}
