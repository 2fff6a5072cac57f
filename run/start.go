package run

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"metasim/federates"
	"metasim/scenarios"
)

// startProcess starts a party as a process: a command of the scenario, or this program with built-in models.
func (c *conductor) startProcess(p party) error {
	argv, workDir, err := c.command(p)
	if err != nil {
		return err
	}
	env := append(append([]string{}, c.options.Env...), p[0].Env...)
	env = append(env, "METASIM_SERVER="+c.entrance.outside.URL(), "METASIM_CLIENT="+p[0].Name, "METASIM_TOKEN="+c.entrance.token)
	logs := c.dir.File("clients")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	proc, err := start(p.names(), argv, workDir, env, logs)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.processes = append(c.processes, proc)
	for _, name := range proc.clients {
		c.homes[name] = proc
	}
	c.mu.Unlock()
	// Not part of the conductor's work: a process may outlive the run by a moment, and endProcesses sees to it.
	go func() {
		proc.wait()
		for _, name := range proc.clients {
			c.server.Exited(name, "its process ended")
		}
	}()
	return nil
}

// command says how to start a party's process, and where.
func (c *conductor) command(p party) (argv []string, workDir string, err error) {
	cl := &p[0]
	if cl.Model == "" {
		program, err := c.scenario.Command(cl)
		if err != nil {
			return nil, "", fmt.Errorf("client %q: %w", cl.Name, err)
		}
		return append([]string{program}, cl.Run[1:]...), cl.WorkDir, nil
	}
	in := Instance{
		Model: cl.Model, With: cl.With, Entry: cl.Entry, Index: cl.Index, Count: cl.Count, Party: len(p),
		Seed: c.scenario.Seed, Dir: c.scenario.Dir, AllowOutside: c.options.AllowOutside,
	}
	text, err := json.Marshal(in)
	if err != nil {
		return nil, "", fmt.Errorf("client %q: its parameters cannot be passed on: %w", cl.Name, err)
	}
	argv = append(argv, c.options.Self...)
	return append(argv, "client", "--instance", string(text)), "", nil
}

// An Instance is a built-in model as a process is told of it: for one client, or for some that follow one another in
// their entry.
type Instance struct {
	Model        string         `json:"model"`
	With         map[string]any `json:"with,omitempty"`
	Entry        string         `json:"entry"`
	Index        int            `json:"index"`
	Count        int            `json:"count"`
	Party        int            `json:"party,omitempty"` // how many clients, from Index on; 0 counts as 1
	Seed         uint64         `json:"seed"`
	Dir          string         `json:"dir"`
	AllowOutside bool           `json:"allow_outside,omitempty"`
}

// Parts makes the models. A single one takes part as name; of several each has the name that the scenario gives it.
func (in *Instance) Parts(name string) ([]Part, error) {
	var parts []Part
	for i := range max(in.Party, 1) {
		if in.Party > 1 {
			name = fmt.Sprintf("%s-%d", in.Entry, in.Index+i)
		}
		m, err := federates.New(in.Model, in.With, federates.Env{
			Name: name, Entry: in.Entry, Index: in.Index + i, Count: in.Count, Seed: in.Seed, Dir: in.Dir,
			Open: func(path string) (io.ReadCloser, error) { return scenarios.OpenFile(in.Dir, path, in.AllowOutside) },
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{name, m})
	}
	return parts, nil
}

// ParseInstance reads what a process was told in its argument after "client --instance".
func ParseInstance(text string) (*Instance, error) {
	var in Instance
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&in); err != nil {
		return nil, fmt.Errorf("--instance: %w", err)
	}
	return &in, nil
}

// endProcesses waits for the processes to end, and ends those that do not.
func (c *conductor) endProcesses(ok bool) {
	patience := abortTime
	if ok {
		patience = c.options.Patience
	}
	var all sync.WaitGroup
	for _, p := range c.processes {
		all.Go(func() {
			if p.end(patience) && ok {
				c.options.Log.Warn("a process had to be ended after its client left", "client", p.clients[0],
					"pid", strconv.Itoa(p.cmd.Process.Pid), "waited", patience)
			}
		})
	}
	all.Wait()
	for _, p := range c.processes {
		if ok && p.err != nil {
			c.options.Log.Warn("a process ended badly after its client left", "client", p.clients[0], "exit", p.exit())
		}
	}
}
