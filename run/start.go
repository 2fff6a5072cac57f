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

// startProcess starts a client as a process: a command of the scenario, or this program with a built-in model.
func (c *conductor) startProcess(cl scenarios.Client) error {
	argv, workDir, err := c.command(cl)
	if err != nil {
		return err
	}
	env := append(append([]string{}, c.options.Env...), cl.Env...)
	env = append(env, "METASIM_SERVER="+c.entrance.outside.URL(), "METASIM_CLIENT="+cl.Name, "METASIM_TOKEN="+c.entrance.token)
	logs := c.dir.File("clients")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	p, err := start(cl.Name, argv, workDir, env, logs)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.processes = append(c.processes, p)
	c.mu.Unlock()
	// Not part of the conductor's work: a process may outlive the run by a moment, and endProcesses sees to it.
	go func() {
		p.wait()
		c.server.Exited(cl.Name, "its process ended")
	}()
	return nil
}

// command says how to start a client's process, and where.
func (c *conductor) command(cl scenarios.Client) (argv []string, workDir string, err error) {
	if cl.Model == "" {
		program, err := c.scenario.Command(&cl)
		if err != nil {
			return nil, "", fmt.Errorf("client %q: %w", cl.Name, err)
		}
		return append([]string{program}, cl.Run[1:]...), cl.WorkDir, nil
	}
	instance, err := json.Marshal(Instance{
		Model: cl.Model, With: cl.With, Entry: cl.Entry, Index: cl.Index, Count: cl.Count, Seed: c.scenario.Seed,
		Dir: c.scenario.Dir, AllowOutside: c.options.AllowOutside,
	})
	if err != nil {
		return nil, "", fmt.Errorf("client %q: its parameters cannot be passed on: %w", cl.Name, err)
	}
	argv = append(argv, c.options.Self...)
	return append(argv, "client", "--instance", string(instance)), "", nil
}

// An Instance is one built-in model as a process is told of it.
type Instance struct {
	Model        string         `json:"model"`
	With         map[string]any `json:"with,omitempty"`
	Entry        string         `json:"entry"`
	Index        int            `json:"index"`
	Count        int            `json:"count"`
	Seed         uint64         `json:"seed"`
	Dir          string         `json:"dir"`
	AllowOutside bool           `json:"allow_outside,omitempty"`
}

// Build makes the model for the client called name.
func (in *Instance) Build(name string) (federates.Model, error) {
	return federates.New(in.Model, in.With, federates.Env{
		Name: name, Entry: in.Entry, Index: in.Index, Count: in.Count, Seed: in.Seed, Dir: in.Dir,
		Open: func(path string) (io.ReadCloser, error) { return scenarios.OpenFile(in.Dir, path, in.AllowOutside) },
	})
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
				c.options.Log.Warn("a process had to be ended after its client left", "client", p.client,
					"pid", strconv.Itoa(p.cmd.Process.Pid), "waited", patience)
			}
		})
	}
	all.Wait()
	for _, p := range c.processes {
		if ok && p.err != nil {
			c.options.Log.Warn("a process ended badly after its client left", "client", p.client, "exit", p.exit())
		}
	}
}
