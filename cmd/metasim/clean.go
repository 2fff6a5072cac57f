package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"metasim/monitor"
	"metasim/record"
)

// A cleaning is what `metasim clean` is asked to do.
type cleaning struct {
	keep   int
	older  time.Duration
	dryRun bool
}

// Cleaned is what `metasim clean --json` prints.
type cleaned struct {
	Removed []string `json:"removed"` // directories of runs
	Kept    []string `json:"kept"`    // those that have not ended
	// Unreadable are those whose manifest cannot be read.
	Unreadable []string `json:"unreadable,omitempty"`

	Bytes  int64 `json:"bytes"`   // of the files that were removed
	DryRun bool  `json:"dry_run"` // nothing was removed
	left   int   // runs that are kept as they were asked to be
}

func newClean(std streams) *cobra.Command {
	var c cleaning
	asJSON := false
	cmd := &cobra.Command{
		Use:   "clean [DIR]",
		Short: "Remove recorded runs",
		Long: "Remove the runs below runs/, or below another directory: each with its journal and what its programs wrote. A directory that\n" +
			"is no run is left alone, and so is a run that has not ended: it goes on, or was cut off, and metasim resume may go on with it.",
		Example: "  metasim clean --dry-run\n  metasim clean --keep 3\n  metasim clean --older-than 168h",
		Args:    between(0, 1, "a directory with runs, or none for runs/"),
		RunE: func(_ *cobra.Command, args []string) error {
			root := "runs"
			if len(args) > 0 {
				root = args[0]
			}
			switch {
			case c.keep < 0:
				return badUsage(fmt.Errorf("--keep is %d; use 0 or more", c.keep))
			case c.older < 0:
				return badUsage(fmt.Errorf("--older-than is %v; use a duration such as 168h", c.older))
			}
			done, err := c.clean(root)
			if errors.Is(err, fs.ErrNotExist) && done == nil {
				return badUsage(fmt.Errorf("%w; name the directory with the runs", err))
			}
			if done != nil {
				err = errors.Join(err, done.print(std, asJSON))
			}
			return failed(err)
		},
	}
	cmd.Flags().IntVar(&c.keep, "keep", 0, "keep the newest runs of each scenario: this `number`")
	cmd.Flags().DurationVar(&c.older, "older-than", 0, "remove only runs that began at least this `duration` ago, as in 168h")
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

// clean removes runs below root. What cannot be removed does not keep the others.
func (c *cleaning) clean(root string) (*cleaned, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	byScenario := map[string][]*record.Run{}
	done := &cleaned{Removed: []string{}, Kept: []string{}, DryRun: c.dryRun}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		r, err := record.Open(dir)
		switch {
		case !e.IsDir() || errors.Is(err, fs.ErrNotExist): // no run; of a symbolic link the target may be anything
		case err != nil:
			done.Unreadable = append(done.Unreadable, dir)
		case r.CanGoOn() || monitor.GoesOn(dir):
			done.Kept = append(done.Kept, dir)
		default:
			byScenario[r.Manifest.Scenario] = append(byScenario[r.Manifest.Scenario], r)
		}
	}
	var errs []error
	for _, runs := range byScenario {
		slices.SortFunc(runs, func(a, b *record.Run) int {
			return cmp.Or(b.Manifest.Started.Compare(a.Manifest.Started), cmp.Compare(b.Dir.Path(), a.Dir.Path()))
		})
		for i, r := range runs {
			if i < c.keep || time.Since(r.Manifest.Started) < c.older {
				done.left++
				continue
			}
			errs = append(errs, done.remove(r.Dir.Path()))
		}
	}
	slices.Sort(done.Removed)
	return done, errors.Join(errs...)
}

// remove removes a run.
func (d *cleaned) remove(dir string) error {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err == nil && !d.DryRun {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		d.Removed, d.Bytes = append(d.Removed, dir), d.Bytes+size
	}
	return err
}

func (d *cleaned) print(std streams, asJSON bool) error {
	if asJSON {
		return printJSON(std.out, d)
	}
	done := "removed"
	if d.DryRun {
		done = "would be removed"
	}
	for _, dir := range d.Removed {
		fmt.Fprintf(std.out, "%s %s\n", done, dir)
	}
	for _, dir := range d.Kept {
		fmt.Fprintf(std.out, "kept %s: it still goes on, or was cut off or stopped: then metasim resume continues it\n", dir)
	}
	for _, dir := range d.Unreadable {
		fmt.Fprintf(std.out, "kept %s: its manifest cannot be read; metasim fsck %s says why\n", dir, dir)
	}
	_, err := fmt.Fprintf(std.out, "%s: %d runs, %s; left: %d\n", done, len(d.Removed), bytesText(uint64(d.Bytes)), d.left+len(d.Kept)+len(d.Unreadable))
	return err
}
