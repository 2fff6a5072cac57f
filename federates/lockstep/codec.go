package lockstep

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/world"
	"metasim/metasim"
)

// portable returns a plugin as it travels: what a run sends may not depend on where its files lie, so those below dir are named as seen from there.
func portable(p *sdf.Plugin, dir string) *sdf.Plugin {
	return renamed(p, func(file string) string {
		if below, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(below) {
			return filepath.ToSlash(below)
		}
		return file
	})
}

// local is the inverse of portable.
func local(p *sdf.Plugin, dir string) *sdf.Plugin {
	return renamed(p, func(file string) string {
		if file = filepath.FromSlash(file); filepath.IsLocal(file) {
			return filepath.Join(dir, file)
		}
		return file
	})
}

// renamed returns a plugin whose places have other names of files.
func renamed(p *sdf.Plugin, name func(file string) string) *sdf.Plugin {
	q := *p
	q.Place.File, q.Content = name(p.Place.File), renamedElements(p.Content, name)
	return &q
}

func renamedElements(all []*sdf.Element, name func(file string) string) []*sdf.Element {
	out := make([]*sdf.Element, 0, len(all))
	for _, e := range all {
		c := *e
		c.Place.File, c.Children = name(e.Place.File), renamedElements(e.Children, name)
		out = append(out, &c)
	}
	return out
}

// A callHeader begins a call: little-endian. Then comes the plugin as JSON, in Configure, and the state.
type callHeader struct {
	Version, Phase  uint8
	Fresh, Behind   bool
	Number          uint32
	Iteration, Seed uint64
	Time, Step      int64
	Next            int64
	Plugin          uint32 // bytes
}

// A replyHeader begins a reply. Then comes what went wrong, or what the system wrote.
type replyHeader struct {
	Version, Phase, Phases uint8
	Failed                 bool
}

func (c *call) encode() ([]byte, error) {
	var plugin []byte
	if c.plugin != nil {
		var err error
		if plugin, err = json.Marshal(c.plugin); err != nil {
			return nil, err
		}
	}
	b := make([]byte, 0, binary.Size(callHeader{})+len(plugin)+len(c.state))
	b, err := binary.Append(b, binary.LittleEndian, callHeader{
		Version: protocolVersion, Phase: uint8(c.phase), Fresh: c.fresh, Behind: c.behind, Number: c.number, Iteration: c.info.Iteration, Seed: c.seed,
		Time: int64(c.info.Time), Step: int64(c.info.Step), Next: int64(c.next), Plugin: uint32(len(plugin)),
	})
	return append(append(b, plugin...), c.state...), err
}

func decodeCall(b []byte) (*call, error) {
	var h callHeader
	n, err := binary.Decode(b, binary.LittleEndian, &h)
	if err != nil {
		return nil, fmt.Errorf("a call of %d bytes is too short; only the world may publish on this channel", len(b))
	}
	if err := checkVersion(h.Version); err != nil {
		return nil, err
	}
	b = b[n:]
	if uint64(h.Plugin) > uint64(len(b)) || h.Phase > uint8(world.Reset) || h.Number == 0 || h.Step <= 0 || h.Next < h.Time {
		return nil, errors.New("a call whose fields contradict one another; only the world may publish on this channel")
	}
	c := &call{phase: world.Phase(h.Phase), fresh: h.Fresh, behind: h.Behind, number: h.Number, seed: h.Seed, next: metasim.Time(h.Next),
		info: world.Info{Iteration: h.Iteration, Time: metasim.Time(h.Time), Step: metasim.Time(h.Step)}, state: b[h.Plugin:]}
	if h.Plugin > 0 {
		if err := json.Unmarshal(b[:h.Plugin], &c.plugin); err != nil {
			return nil, fmt.Errorf("the plugin of a call: %w", err)
		}
		if c.plugin != nil && slices.ContainsFunc(c.plugin.Content, missing) {
			return nil, errors.New("the plugin of a call has null in the place of an element; only the world may publish on this channel")
		}
	}
	if c.phase == world.Configure && c.plugin == nil {
		return nil, errors.New("a call of Configure without a plugin")
	}
	return c, nil
}

// missing reports whether there is no element, or none somewhere inside of it.
func missing(e *sdf.Element) bool { return e == nil || slices.ContainsFunc(e.Children, missing) }

func (r *reply) encode() ([]byte, error) {
	b, err := binary.Append(nil, binary.LittleEndian, replyHeader{protocolVersion, uint8(r.phase), r.phases, r.failed != ""})
	if r.failed != "" {
		return append(b, r.failed...), err
	}
	return r.changes.Append(b), err
}

func decodeReply(b []byte) (r reply, err error) {
	var h replyHeader
	n, err := binary.Decode(b, binary.LittleEndian, &h)
	if err != nil {
		return r, fmt.Errorf("a reply of %d bytes; what is published on its channel is no reply", len(b))
	}
	if err := checkVersion(h.Version); err != nil {
		return r, err
	}
	r.phase, r.phases = world.Phase(h.Phase), h.Phases
	if h.Failed {
		r.failed = string(b[n:])
		return r, nil
	}
	r.changes, err = ecm.Decode(b[n:])
	return r, err
}

func checkVersion(v uint8) error {
	if v != protocolVersion {
		return fmt.Errorf("the other side speaks version %d of lock step, this one %d; run the same metasim on both", v, protocolVersion)
	}
	return nil
}
