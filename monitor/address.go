package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"metasim/internal/atomicfile"
	"metasim/record/journal"
)

// AddressFile lies in the directory of a run while it goes on: an Address as JSON.
const AddressFile = "live.json"

// An Address says where a run can be asked.
type Address struct {
	PID    int    `json:"pid"`            // of the server
	Socket string `json:"socket"`         // the path of a unix socket, for this user alone
	HTTP   string `json:"http,omitempty"` // without the token
}

// Write writes the file, whole or not at all.
func (a Address) Write(file string) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing where the run can be asked: %w", err)
	}
	return nil
}

// Open returns a run that goes on, by its directory.
func Open(dir string) (*Remote, error) {
	text, err := os.ReadFile(filepath.Join(dir, AddressFile))
	if info, e := os.Stat(dir); e == nil && !info.IsDir() {
		return nil, fmt.Errorf("monitor: %s is no run but a file; name a directory that metasim run has made", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notLive(dir)
	}
	var a Address
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("monitor: where the run in %s can be asked cannot be read: %w", dir, err)
	}
	return dialSocket(a.Socket, dir), nil
}

// notLive says why there is nobody to ask in a directory.
func notLive(dir string) error {
	d, err := journal.Open(dir)
	if err != nil {
		return err
	}
	m, err := d.Manifest()
	if err != nil {
		return err
	}
	end := "it is done"
	if !m.OK {
		end = m.Error
	}
	return fmt.Errorf("monitor: the run in %s does not go on: %s; see metasim log %s", dir, end, dir)
}

// Find returns the one run that goes on of those whose directories lie in root.
func Find(root string) (*Remote, error) {
	files, err := filepath.Glob(filepath.Join(root, "*", AddressFile))
	if err != nil {
		return nil, err
	}
	var found []*Remote
	var dirs []string
	for _, f := range files {
		if r, err := Open(filepath.Dir(f)); err == nil && r.answers() { // else it was killed
			found, dirs = append(found, r), append(dirs, filepath.Dir(f))
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("monitor: no run goes on in %s; name one, by --run DIR or --http ADDR", root)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("monitor: %d runs go on: %s; say which, by --run DIR", len(dirs), strings.Join(dirs, ", "))
}
