package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"metasim/federates/follower/frames"
	"metasim/federates/follower/scene"
	"metasim/internal/atomicfile"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

// maxDemoNodes is how many nodes make the picture of metasim follower demo at most: more would make parts of a few pixels.
const maxDemoNodes = 64

// A followerOutcome is what metasim follower demo --json prints.
type followerOutcome struct {
	OK        bool          `json:"ok"`
	Error     string        `json:"error"`
	Frames    uint64        `json:"frames"` // that all nodes have shown
	Nodes     []shownByNode `json:"nodes"`
	Torn      uint64        `json:"torn_frames"`
	Failovers int           `json:"failovers"`
	Failed    []string      `json:"failed"`
	Stopped   string        `json:"stopped,omitempty"`
	Pictures  []string      `json:"pictures"` // the composed ones
	Digest    string        `json:"digest"`
	RunDir    string        `json:"run_dir"`
	err       error
}

// shownByNode is the result of the model render-node, as far as it is shown.
type shownByNode struct {
	Name         string `json:"name"`
	Exit         string `json:"exit"`
	Frames       uint64 `json:"frames"`
	AsController uint64 `json:"as_controller"`
	DataHash     string `json:"data_hash"`
	DataBytes    uint64 `json:"data_bytes"`
	Failed       bool   `json:"failed"`
	cut          bool   // it was ended before it said anything of this
}

func newFollower(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "follower",
		Short: "One node of a cluster computes, and all others show exactly that frame",
		Long: "One node of a cluster, the controller, computes the state of each frame, and all others show exactly that frame. The models director\n" +
			"and render-node do so in any scenario; an engine in Go does so with package metasim/federates/follower.",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFollowerDemo(std))
	return cmd
}

func newFollowerDemo(std streams) *cobra.Command {
	var f followerDemo
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Draw the parts of one picture with several nodes, which show the same frame or tear",
		Long: "Run a director and several nodes, of which each draws its part of one scene: a fountain, and a cloth in gusts of wind. Of each tenth\n" +
			"frame the parts and the whole picture are written as PNG. With --sync=false each node computes the scene for itself, with\n" +
			"random numbers of its own, as engines do that nobody has given a seed: the picture tears.\n\n" +
			"With --http the nodes are shown on a page while the run goes on, as fast as real time: 30 frames in a second, for ten minutes. There\n" +
			"synchronisation is turned off and on, a node is overloaded or fails, and the picture is touched. No pictures are written then, and\n" +
			"the run is recorded only where --out says so: it takes 2 MB in a second.\n\n" +
			"It is a run as any other, in the directory `run` beside the pictures: metasim log, report, replay and diff read it.",
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.carryOut(cmd, std) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.nodes, "nodes", 4, "the `number` of nodes: the first is the controller, the others understudies")
	flags.IntVar(&f.frames, "frames", 100, "the `number` of frames")
	flags.BoolVar(&f.sync, "sync", true, "send the controller's state to all nodes in each frame")
	flags.IntVar(&f.kill, "kill-controller-at", -1, "in this `frame` the controller leaves without a word to the others, half-way through sending (default: never)")
	flags.StringVar(&f.transport, "transport", "mem", "where the nodes run: mem, in this process; "+processTransports()+", in processes of their own, over this transport")
	flags.StringVar(&f.world, "world", "", "show this `file` with a world, in SDF, instead of the demo's scene: what the first of its cameras sees. Its systems in placeholders run in clients of their own")
	flags.StringVar(&f.frameRate, "frame-rate", "60000/1001", "frames in a second: a whole `number`, or a fraction")
	flags.StringVar(&f.seed, "seed", "1", "the seed of the run: a whole `number`")
	flags.StringVar(&f.out, "out", "", "put the pictures and the run into this `directory` (default: one below the directory for temporary files)")
	f.live.add(cmd)
	flags.BoolVar(&f.json, "json", false, "print the outcome as one JSON object, and nothing else, on stdout")
	return cmd
}

func (f *followerDemo) carryOut(cmd *cobra.Command, std streams) error {
	out, err := f.run(cmd, std)
	if out == nil {
		out = &followerOutcome{Error: err.Error(), Nodes: []shownByNode{}, Failed: []string{}, Pictures: []string{}}
	} else if err != nil && out.OK { // the run has ended; the pictures of it may have failed
		out.OK, out.Error = false, err.Error()
	} else if err == nil {
		err = failed(out.err)
	}
	if f.json {
		return errors.Join(err, printJSON(std.out, out))
	}
	if out.RunDir != "" {
		out.print(std.out, f)
	}
	return err
}

// run carries the demo out, and returns no outcome where there was no run.
func (f *followerDemo) run(cmd *cobra.Command, std streams) (*followerOutcome, error) {
	switch {
	case f.nodes < 1 || f.nodes > maxDemoNodes:
		return nil, badUsage(fmt.Errorf("--nodes is %d; use 1 to %d", f.nodes, maxDemoNodes))
	case f.frames < 1:
		return nil, badUsage(fmt.Errorf("--frames is %d; use at least 1", f.frames))
	case cmd.Flags().Changed("kill-controller-at") && (f.kill < 0 || f.kill >= f.frames):
		return nil, badUsage(fmt.Errorf("--kill-controller-at is %d; use one of the frames, 0 to %d", f.kill, f.frames-1))
	case !slices.Contains(run.Transports, f.transport):
		return nil, badUsage(fmt.Errorf("--transport is %q; use %s", f.transport, strings.Join(run.Transports, ", ")))
	}
	if err := f.live.check(); err != nil {
		return nil, badUsage(err)
	}
	if f.live.HTTP != "" {
		f.slowDown(cmd)
	}
	sc, err := f.scenario(std)
	if err != nil {
		return nil, badUsage(err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, failed(err)
	}
	record := f.out != "" || f.live.HTTP == ""
	if !record || f.out == "" {
		f.out, err = os.MkdirTemp("", "metasim-follower-")
	} else {
		err = os.MkdirAll(f.out, 0o755)
	}
	if err != nil {
		return nil, failed(fmt.Errorf("the directory of the pictures cannot be made: %w; name another one with --out", err))
	}
	done, err := f.show(cmd.Context(), sc, std, run.Options{Transport: f.transport, Out: filepath.Join(f.out, "run"), Self: []string{self}, NoJournal: !record, AllowOutside: f.world != "",
		Log: newLogger(std.err, false), Command: commandLine(cmd)})
	if err != nil {
		return nil, failed(err)
	}
	out, err := followerOutcomeOf(done)
	if out.Frames == 0 && f.wall != nil { // a run that was ended has no result of the director
		out.Frames, out.Torn = f.wall.Counted()
	}
	if err == nil && f.live.HTTP == "" {
		out.Pictures, err = f.writePictures(done.RunDir)
	}
	return out, failed(err)
}

// scenario writes the scenario of the demo.
func (f *followerDemo) scenario(std streams) (*scenarios.Scenario, error) {
	direct := map[string]any{"frame_rate": f.frameRate, "frames": f.frames, "sync": f.sync}
	clients := []map[string]any{{"name": "director", "model": "director", "with": direct}}
	for i := range f.nodes {
		with := map[string]any{"role": "understudy", "order": i, "parts": f.nodes, "part": i, "state_bytes": scene.Size}
		if i == 0 {
			with["role"] = "controller"
			if f.kill >= 0 {
				with["fail_at"], with["fail"] = f.kill, "half-way"
			}
		}
		clients = append(clients, map[string]any{"name": nodeName(i), "model": "render-node", "with": with})
	}
	doc, file := map[string]any{"name": "followers", "clients": clients}, "the demo"
	until := f.duration()
	f.size = image.Pt(scene.Width, scene.Height)
	if f.world != "" {
		file = f.world
		if err := f.ofWorld(doc, direct, until, std); err != nil {
			return nil, err
		}
	}
	overrides := scenarios.Overrides{Seed: f.seed, AllowOutside: f.world != ""}
	if f.live.HTTP != "" {
		f.onTheWall(doc, direct)
		overrides.Until = until.String()
	}
	// JSON is YAML, and needs no care of what has to be quoted.
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, err
	}
	sc, _, err := scenarios.Parse(file, text, overrides)
	return sc, err
}

func followerOutcomeOf(done *run.Outcome) (*followerOutcome, error) {
	out := &followerOutcome{OK: done.OK, Error: done.Error, Digest: done.Digest, RunDir: done.RunDir, Nodes: []shownByNode{}, Failed: []string{},
		Pictures: []string{}, err: done.Err}
	for _, c := range done.Clients {
		if c.Name == "director" {
			var totals frames.Totals
			if err := readResult(c.Result, &totals); err != nil {
				return out, err
			}
			out.Frames, out.Torn, out.Failovers, out.Stopped = totals.Frames, totals.Torn, totals.Failovers, totals.Stopped
			out.Failed = append(out.Failed, totals.Failed...)
			continue
		}
		if !strings.HasPrefix(c.Name, "node-") { // the page, the world and its systems
			continue
		}
		n := shownByNode{Name: c.Name, Exit: c.Exit}
		if err := readResult(c.Result, &n); err != nil {
			return out, err
		}
		n.cut = c.Exit != "left" && string(c.Result) == "{}"
		out.Nodes = append(out.Nodes, n)
	}
	if out.OK && out.Stopped != "" {
		out.OK, out.Error, out.err = false, out.Stopped, errors.New(out.Stopped)
	}
	return out, nil
}

// writePictures writes the parts that the nodes have sent to the director, and what they make together.
func (f *followerDemo) writePictures(dir string) (names []string, err error) {
	log, err := record.ReadLog(dir)
	if err != nil {
		return nil, err
	}
	parts := map[uint64][][]byte{} // by frame, then by node
	var order []uint64
	for _, m := range log.Messages {
		back, ok := frames.ReadFrame(m.Payload)
		if m.To != "director" || !ok || len(back.Pictures) == 0 {
			continue
		}
		if parts[back.Frame] == nil {
			parts[back.Frame] = make([][]byte, f.nodes)
			order = append(order, back.Frame)
		}
		for i := range f.nodes {
			if m.From == nodeName(i) {
				parts[back.Frame][i] = back.Pictures[0]
			}
		}
	}
	for _, frame := range order {
		name := filepath.Join(f.out, fmt.Sprintf("frame-%05d", frame))
		if err := f.writePicture(name, parts[frame]); err != nil {
			return names, err
		}
		names = append(names, name+".png")
	}
	return names, nil
}

// writePicture writes one frame. The part of a node that has failed is dark red.
func (f *followerDemo) writePicture(name string, parts [][]byte) error {
	whole := image.NewRGBA(image.Rectangle{Max: f.size})
	draw.Draw(whole, whole.Rect, image.NewUniform(color.RGBA{70, 0, 0, 255}), image.Point{}, draw.Src)
	for i, part := range parts {
		if part == nil {
			continue
		}
		if err := atomicfile.Write(fmt.Sprintf("%s-%s.png", name, nodeName(i)), part, 0o644); err != nil {
			return err
		}
		m, err := png.Decode(bytes.NewReader(part))
		if err != nil {
			return err
		}
		draw.Draw(whole, scene.Split(f.size.X, f.size.Y, i, f.nodes), m, m.Bounds().Min, draw.Src)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, whole); err != nil {
		return err
	}
	return atomicfile.Write(name+".png", b.Bytes(), 0o644)
}

func (o *followerOutcome) print(w io.Writer, f *followerDemo) {
	for _, n := range o.Nodes {
		role := fmt.Sprintf("%d of them computed, %d received", n.AsController, n.Frames-n.AsController)
		switch {
		case n.cut:
			fmt.Fprintf(w, "%s: it was ended, and has not said what it has shown\n", n.Name)
			continue
		case f.live.HTTP != "": // synchronisation was on or off, as somebody clicked
			role = fmt.Sprintf("%d of them as the controller", n.AsController)
		case !f.sync:
			role = "all computed for itself"
		}
		end := ""
		if n.Failed {
			end = "; then it failed"
		}
		fmt.Fprintf(w, "%s: %d frames, %s%s\n", n.Name, n.Frames, role, end)
	}
	for _, why := range o.Failed {
		fmt.Fprintf(w, "warning: %s\n", why)
	}
	fmt.Fprintf(w, "%d frames, %d of them torn, %d failovers\n", o.Frames, o.Torn, o.Failovers)
	if n := len(o.Pictures); n > 0 {
		fmt.Fprintf(w, "%d pictures, as %s\n", n, shellWord(o.Pictures[n-1]))
	}
	fmt.Fprintf(w, "digest  %s\nrun     %s\n", o.Digest, o.RunDir)
}
