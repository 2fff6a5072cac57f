package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"metasim/internal/problem"
	"metasim/scenarios"
)

const planFile = "sweep.json"

// format is the version of sweep.json.
const format = 1

// newPlan reads what a sweep is. It also returns the text of the scenario, so that all runs have the same one, and what
// Load warned of.
func newPlan(o *Options) (p *Plan, text []byte, warnings []problem.Problem, err error) {
	if text, err = scenarios.ReadFile(o.File); err != nil {
		return nil, nil, nil, err
	}
	base, warnings, err := scenarios.Parse(o.File, text, o.Overrides)
	if err != nil {
		return nil, nil, warnings, err
	}
	for _, c := range base.Clients {
		if c.External {
			return nil, nil, warnings, fmt.Errorf("client %q joins from outside, and a sweep starts all clients itself; give it a run or a model", c.Name)
		}
	}
	axes := slices.Clone(base.Sweep)
	if o.axes != nil {
		axes = o.axes
	}
	named := map[string]bool{}
	for _, vary := range o.Vary {
		a, err := scenarios.ParseAxis(vary)
		if err != nil {
			return nil, nil, warnings, err
		}
		if named[a.Path] {
			return nil, nil, warnings, fmt.Errorf("--vary names %s twice; name it once, with all its values", a.Path)
		}
		named[a.Path] = true
		if i := slices.IndexFunc(axes, func(b scenarios.Axis) bool { return a.Path == b.Path }); i >= 0 {
			axes[i] = a
			continue
		}
		axes = append(axes, a)
	}
	if len(axes) == 0 {
		return nil, nil, warnings, errors.New("nothing is varied; add sweep: to the scenario, or --vary PATH=VALUE,VALUE, as in --vary seed=1,2,3")
	}
	if n := scenarios.Product(axes); n > scenarios.MaxRuns {
		return nil, nil, warnings, fmt.Errorf("the sweep has %d runs, and at most %d are allowed; leave values out", n, scenarios.MaxRuns)
	}
	file, err := filepath.Abs(o.File)
	if err != nil {
		return nil, nil, warnings, err
	}
	p = &Plan{Format: format, Scenario: base.Name, File: file, Overrides: o.Overrides, Axes: axes}
	if p.Base, err = base.Resolved(false); err != nil {
		return nil, nil, warnings, err
	}
	return p, text, warnings, p.try(text)
}

// Check says what is wrong with what a scenario itself varies, as Open would. One that varies nothing is right, and one with clients from outside may run.
func Check(file string, o scenarios.Overrides) error {
	text, err := scenarios.ReadFile(file)
	if err != nil {
		return err
	}
	base, _, err := scenarios.Parse(file, text, o)
	if err != nil {
		return err
	}
	p := &Plan{File: file, Overrides: o, Axes: base.Sweep}
	return p.try(text)
}

// try checks the first and the last value of each axis, with the first of all others, so that a mistake is told before a thousand runs fail. Two values that make
// one scenario are a mistake: a later axis may have replaced both, and then the table would show values that no run has had.
func (p *Plan) try(text []byte) error {
	for i, a := range p.Axes {
		var first []byte
		for k, value := range []string{a.Values[0], a.Values[len(a.Values)-1]} {
			set := p.set(0)
			set[i] = a.Path + "=" + value
			sc, err := p.load(text, set)
			if err != nil {
				return varied(err)
			}
			resolved, err := sc.Resolved(true)
			if err != nil {
				return err
			}
			if k == 1 && value != a.Values[0] && bytes.Equal(resolved, first) {
				message := fmt.Sprintf("changes nothing: with %s and with %s the runs are the same; leave it out, or another key that sets the same value", a.Values[0], value)
				return &problem.Invalid{Problems: []problem.Problem{{File: "sweep", Path: a.Path, Message: message}}}
			}
			first = resolved
		}
	}
	return nil
}

// load reads the scenario with some values.
func (p *Plan) load(text []byte, set []string) (*scenarios.Scenario, error) {
	o := p.Overrides
	o.Set = slices.Clone(o.Set)
	// The flags --until and --seed come before what is varied, which replaces them.
	if o.Until != "" {
		o.Set = append(o.Set, "until="+o.Until)
	}
	if o.Seed != "" {
		o.Set = append(o.Set, "seed="+o.Seed)
	}
	// What the file varies is known, and a range of many values would be written out again for each run.
	o.Set, o.Until, o.Seed = append(append(o.Set, "sweep={}"), set...), "", ""
	sc, _, err := scenarios.Parse(p.File, text, o) // its warnings were those of the base
	return sc, err
}

// varied says of problems with values that are set that the sweep has set them.
func varied(err error) error {
	var invalid *problem.Invalid
	if errors.As(err, &invalid) {
		for i := range invalid.Problems {
			if p := &invalid.Problems[i]; p.File == "--set" {
				p.File = "sweep"
			}
		}
	}
	return err
}

// Runs returns how many runs there are.
func (p *Plan) Runs() int { return scenarios.Product(p.Axes) }

// values returns the values of a run, one of each axis.
func (p *Plan) values(id int) []string {
	values := make([]string, len(p.Axes))
	for i := len(p.Axes) - 1; i >= 0; i-- {
		n := len(p.Axes[i].Values)
		values[i] = p.Axes[i].Values[id%n]
		id /= n
	}
	return values
}

// set returns the values of a run as assignments.
func (p *Plan) set(id int) []string {
	set := p.values(id)
	for i := range set {
		set[i] = p.Axes[i].Path + "=" + set[i]
	}
	return set
}

// readPlan reads sweep.json.
func readPlan(dir string) (*Plan, error) {
	text, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	err = json.Unmarshal(text, p)
	switch {
	case err == nil && p.Format != format:
		err = fmt.Errorf("its format is %d, and this version of metasim knows %d", p.Format, format)
	case err == nil && len(p.Axes) == 0:
		err = errors.New("it has no axes")
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as the plan of a sweep: %w; to begin anew, remove the directory", filepath.Join(dir, planFile), err)
	}
	return p, nil
}

// json writes sweep.json.
func (p *Plan) json() ([]byte, error) {
	text, err := json.MarshalIndent(p, "", "  ")
	return append(text, '\n'), err
}

// dir is the directory of a sweep that has none of its own: the same for the same sweep.
func (p *Plan) dir() (string, error) {
	text, err := p.json()
	sum := sha256.Sum256(text)
	return filepath.Join("sweeps", p.Scenario+"-"+hex.EncodeToString(sum[:4])), err
}

// An OtherSweepError says that a directory is that of another sweep.
type OtherSweepError struct {
	Dir    string
	Differ []string // what is not the same
}

func (e *OtherSweepError) Error() string {
	return fmt.Sprintf("%s is the directory of another sweep: %s is not the same; choose another --out, or remove it", e.Dir, strings.Join(e.Differ, " and "))
}

// compare returns an *OtherSweepError if a directory is that of another sweep.
func (p *Plan) compare(dir string, other *Plan) error {
	var differ []string
	if p.File != other.File || !bytes.Equal(compact(p.Base), compact(other.Base)) {
		differ = append(differ, "the scenario")
	}
	if !slices.EqualFunc(p.Axes, other.Axes, func(a, b scenarios.Axis) bool { return a.Path == b.Path && slices.Equal(a.Values, b.Values) }) {
		differ = append(differ, "what is varied")
	}
	if differ == nil {
		return nil
	}
	return &OtherSweepError{Dir: dir, Differ: differ}
}

// compact returns JSON without its spaces. What is no JSON is equal to nothing else.
func compact(text []byte) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return append([]byte("no JSON: "), text...)
	}
	return b.Bytes()
}
