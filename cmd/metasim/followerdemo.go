package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"metasim/federates/camera"
	"metasim/federates/follower/frames"
	"metasim/federates/follower/scene"
	"metasim/federates/lockstep"
	"metasim/metasim"
	"metasim/monitor/wall"
	"metasim/run"
	"metasim/scenarios"
)

// followerDemo has the flags of metasim follower demo.
type followerDemo struct {
	nodes, frames   int
	kill            int
	sync, json      bool
	transport, out  string
	seed, frameRate string
	live            liveFlags
	world           string      // a file; empty: the scene of the demo
	size            image.Point // of the picture
	wall            *wall.Wall  // what --http shows; nil without
}

// A demo on a page goes on for ten minutes, with as many frames as nodes and a browser can show on a small machine.
const (
	wallRate   = 30
	wallFrames = 10 * 60 * wallRate
	// wallEvery is how many frames there are for each that is drawn.
	wallEvery = 3
)

// nodeName is the name of a node of the demo.
func nodeName(i int) string { return fmt.Sprintf("node-%02d", i) }

// slowDown gives a demo on a page other defaults.
func (f *followerDemo) slowDown(cmd *cobra.Command) {
	if !cmd.Flags().Changed("frames") {
		f.frames = wallFrames
	}
	if !cmd.Flags().Changed("frame-rate") {
		f.frameRate = fmt.Sprint(wallRate)
	}
}

// onTheWall completes the scenario of a demo on a page: the nodes are asked for their parts of the picture, and the client of the page hears and says what it likes.
// A slow cluster shows fewer frames until the run ends.
func (f *followerDemo) onTheWall(doc, direct map[string]any) {
	delete(direct, "frames")
	if f.world == "" {
		direct["streams"] = f.streams(map[string]any{"size": []int{f.size.X, f.size.Y}})
	}
	direct["pictures_every"], direct["wholes"] = wallEvery, wall.Wholes
	direct["commands"], direct["inputs"] = wall.Commands, []string{wall.Touches}
	clients := doc["clients"].([]map[string]any)
	for _, c := range clients {
		if c["model"] == "render-node" {
			c["with"].(map[string]any)["commands"] = wall.Commands
		}
	}
	doc["rate"] = 1
	doc["clients"] = append(clients, map[string]any{"name": wall.Client, "external": true, "publish": []string{wall.Commands, wall.Touches}, "subscribe": []string{wall.Wholes}})
}

// streams gives each node its part of one camera.
func (f *followerDemo) streams(camera map[string]any) (streams []map[string]any) {
	for i := range f.nodes {
		clip := scene.Split(f.size.X, f.size.Y, i, f.nodes)
		s := map[string]any{"node": nodeName(i), "clip": []int{clip.Min.X, clip.Min.Y, clip.Max.X, clip.Max.Y}}
		maps.Copy(s, camera)
		streams = append(streams, s)
	}
	return streams
}

// duration returns how long the frames take.
func (f *followerDemo) duration() metasim.Time {
	rate := frames.Rate{Num: 1, Den: 1}
	_, _ = fmt.Sscanf(f.frameRate, "%d/%d", &rate.Num, &rate.Den) // the check of the scenario says what is wrong with the rate, and a whole number ends early
	if rate.Num == 0 || rate.Den == 0 {
		return metasim.Second
	}
	return rate.Time(uint64(f.frames))
}

// ofWorld has the nodes show a world instead of the demo's scene: each its part of what the world's first camera sees.
func (f *followerDemo) ofWorld(doc, direct map[string]any, until metasim.Time, std streams) error {
	if !f.sync {
		return errors.New("--sync=false has each node compute for itself, and the nodes of a world do not; leave it out")
	}
	d, warnings, err := new(modelFlag).load(f.world)
	printEach(std.err, "warning", warnings)
	if err != nil {
		return err
	}
	w, err := lockstep.Pick(d, f.world, "")
	if err != nil {
		return err
	}
	systems, err := lockstep.Check(w)
	if err != nil {
		return err
	}
	views, topics := camera.New(w).Views, lockstep.CameraTopics(w)
	if len(views) == 0 || len(topics) == 0 {
		return fmt.Errorf("%s has no camera for --world; add a <sensor type=\"camera\"> to a link", f.world)
	}
	f.size = image.Pt(views[0].Sensor.Camera.Width, views[0].Sensor.Camera.Height)
	direct["streams"], direct["pictures_every"] = f.streams(map[string]any{"camera": topics[0]}), pictureEvery
	clients := doc["clients"].([]map[string]any)
	for _, c := range clients[1:] {
		with := c["with"].(map[string]any)
		delete(with, "parts")
		delete(with, "part")
		delete(with, "state_bytes")
		with["world"] = worldClient
	}
	remote := []string{}
	for _, s := range systems {
		if s.LockStep {
			remote = append(remote, s.Name)
			clients = append(clients, map[string]any{"name": s.Name, "model": "lockstep-runtime"})
		}
	}
	doc["clients"] = append(clients, map[string]any{"name": worldClient, "model": "world", "with": map[string]any{
		"file": filepath.Base(f.world), "states": true, "remote": remote, "iterations": int64(until/w.Physics.Step) + 2}})
	return nil
}

// worldClient is the client of a world that nodes show, and pictureEvery how many frames there are for each picture of it.
const (
	worldClient  = "world"
	pictureEvery = 10
)

// show carries the scenario out, on a page if there is to be one.
func (f *followerDemo) show(ctx context.Context, sc *scenarios.Scenario, std streams, o run.Options) (*run.Outcome, error) {
	if f.live.HTTP == "" {
		return run.Scenario(ctx, sc, o)
	}
	var names []string
	for i := range f.nodes {
		names = append(names, nodeName(i))
	}
	w := wall.New(names, f.world == "") // a world goes on without those who show it
	f.wall = w
	say := func(text string) { fmt.Fprintln(std.err, text) }
	o.Live = f.live.options(say, nil)
	o.Live.Pages = map[string]http.Handler{"/wall/": w.Handler()}
	o.Live.Shown = func(url string) { say("live: " + strings.Replace(url, "/#token=", "/wall/#token=", 1)) }
	var page sync.WaitGroup
	var cause error
	o.Ready = func(url, token, _ string) error {
		page.Go(func() { cause = w.Join(ctx, url, token) })
		return nil
	}
	done, err := run.Scenario(ctx, sc, o)
	page.Wait()
	if cause != nil && err == nil && done.OK { // else the run says why it failed, and so did its page
		o.Log.Warn("the page did not show all of the run", "cause", cause)
	}
	return done, err
}
