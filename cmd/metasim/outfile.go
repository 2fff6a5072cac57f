package main

import (
	"fmt"
	"os"
	"path/filepath"

	"metasim/internal/atomicfile"
)

// createFile begins a file of what was read from a run. It must not lie in the directory of the run, which holds only what the run
// has left.
func createFile(path, runDir string) (*atomicfile.File, error) {
	parent, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	run, err := os.Stat(runDir)
	if err != nil {
		return nil, err
	}
	if os.SameFile(parent, run) {
		return nil, fmt.Errorf("%s would lie in the directory of the run, which holds what the run has left; name another place", path)
	}
	return atomicfile.Create(path, 0o644)
}
