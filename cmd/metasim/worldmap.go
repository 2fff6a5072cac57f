package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/federates/levels/worldmap"
	"metasim/federates/levels/worldmap/raster"
	"metasim/internal/atomicfile"
	"metasim/metasim"
	"metasim/record"
	"metasim/run"
)

// worldMapper is the client that takes the maps of a world, for --map and for the page of --http.
const worldMapper = "map"

// mapInstants is how many instants of a run are drawn where nothing else is said, and mostMapPeriod how much simulated time lies between two of them at most.
const (
	mapInstants   = 100
	mostMapPeriod = metasim.Second
)

// mapFlags say whether and when a world is drawn from above.
type mapFlags struct {
	dir, every string
	png        bool
}

func (f *mapFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "map", "", "draw the world from above, with its levels and who moves what, into this `directory`: a map-00000.svg for each instant, and index.html, which plays them")
	flags.BoolVar(&f.png, "map-png", false, "with --map: write each drawing as a picture too, map-00000.png")
	flags.StringVar(&f.every, "map-every", "", "draw it after the first step, and then once in this simulated `duration` (default: a hundredth of the run, and 1s at most)")
}

// check returns what contradicts itself. Live is whether the run has a page.
func (f *mapFlags) check(live bool) error {
	if f.png && f.dir == "" {
		return errors.New("--map-png makes pictures of the drawings of --map; name the directory for them with --map")
	}
	if f.every == "" {
		return nil
	}
	if every, err := delay.ParseDuration(f.every); err != nil || every <= 0 {
		return fmt.Errorf("--map-every is %q; write a duration above 0, such as 100ms", f.every)
	}
	if f.dir == "" && !live {
		return errors.New("--map-every says when the world is drawn for --map and --http; name the directory for the drawings with --map")
	}
	return nil
}

// period returns how much simulated time lies between two maps of a world: a number of steps.
func (f *mapFlags) period(step metasim.Time, until string, iterations uint64) string {
	if f.every != "" {
		return f.every
	}
	length := mostMapPeriod * mapInstants
	if t, err := delay.ParseDuration(until); err == nil { // what is wrong with it, the scenario says
		length = min(length, t)
	}
	if iterations > 0 && iterations < uint64(length/step) {
		length = metasim.Time(iterations) * step
	}
	return (max(length/mapInstants/step, 1) * step).String()
}

// mapTaker returns the client that takes the maps of the client of a world.
func mapTaker(name, world string) map[string]any {
	return map[string]any{"name": name, "model": "sink", "with": map[string]any{"channels": quoted([]string{catalog.MapChannel(world)})}}
}

// write writes the maps of a run: a drawing for each instant, and a page that plays them. Those of several worlds have a directory each.
func (f *mapFlags) write(done *run.Outcome, worlds []worldPart) error {
	log, err := record.ReadLog(done.RunDir)
	if err != nil {
		return err
	}
	for i := range worlds {
		w := &worlds[i]
		var frames []*worldmap.Frame
		var layout *worldmap.Layout
		for _, m := range log.Messages {
			if m.To != w.mapper {
				continue
			}
			f, err := worldmap.Decode(m.Payload, layout)
			if err != nil {
				return fmt.Errorf("from client %q: %w", m.From, err)
			}
			frames, layout = append(frames, f), f.Layout
		}
		if len(frames) == 0 {
			continue // it did not come to its first step
		}
		dir := f.dir
		if len(worlds) > 1 {
			dir = filepath.Join(f.dir, fileName(w.name))
		}
		if err := writeMap(dir, frames, f.png); err != nil {
			return err
		}
	}
	return nil
}

func writeMap(dir string, frames []*worldmap.Frame, pictures bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	painter, err := raster.New(worldmap.Style)
	if err != nil {
		return err
	}
	var d worldmap.Drawing
	for _, f := range frames {
		d.Include(f)
	}
	for i := range frames {
		file := filepath.Join(dir, fmt.Sprintf("map-%05d", i))
		svg := d.SVG(frames[max(0, i-worldmap.TrailFrames):i+1], true)
		if err := atomicfile.Write(file+".svg", []byte(svg), 0o644); err != nil {
			return err
		}
		if !pictures {
			continue
		}
		picture, err := painter.Paint(svg)
		if err == nil {
			err = writePicture(file+".png", picture)
		}
		if err != nil {
			return err
		}
	}
	var page strings.Builder
	if err := worldmap.Page(&page, frames); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, "index.html"), []byte(page.String()), 0o644)
}
