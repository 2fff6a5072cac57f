package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/record/past"
)

// A Health says of each file of a run whether it is whole, and what can be done with the run.
type Health struct {
	Run   string       `json:"run"`
	Files []FileHealth `json:"files"`
	Uses  []Use        `json:"commands"`

	recorded    *Run // nil: the manifest cannot be read
	killed      bool
	journal     error  // why the journal cannot be read to its end; nil: it can
	good        string // how far it is good
	journalGood int64  // up to which byte
}

// A FileHealth says it of one file.
type FileHealth struct {
	File  string    `json:"file"` // its path in the directory of the run
	State FileState `json:"state"`
	Size  int64     `json:"size"`
	// Good is up to which byte a journal can be used, Records how many records that are, and Until the latest instant in them.
	Good    int64    `json:"good,omitempty"`
	Records int64    `json:"records,omitempty"`
	Until   *Instant `json:"until,omitempty"`
	Note    string   `json:"note"`
}

// A FileState is what is known of a file.
type FileState string

// The states of a file.
const (
	Whole     FileState = "whole"     // it is as it was written
	Unchecked FileState = "unchecked" // nothing says whether it is
	CutOff    FileState = "cut off"   // it is good, and was not written to its end
	Damaged   FileState = "damaged"
	Missing   FileState = "missing"
)

// A Use says how far a command can use the run.
type Use struct {
	Command string `json:"command"`
	Can     string `json:"can"` // all, part or no
	Why     string `json:"why"` // not all; empty for all
}

// The names of the files that Examine tells from others.
const (
	manifestName = "manifest.json"
	journalName  = "journal"
	indexName    = "index"
)

// Examine looks at each file of a run. goesOn says that the run has not ended and is carried out. It fails where there is no run.
func Examine(path string, goesOn bool) (*Health, error) {
	dir, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	h := &Health{Run: path}
	manifest := h.manifest(dir)
	h.killed = h.recorded == nil || h.recorded.Killed()
	h.add(manifest)
	f := h.readJournal(dir, goesOn)
	h.journalGood = f.Good
	h.add(f)
	h.add(h.index(dir))
	if err := h.others(dir, goesOn); err != nil {
		return nil, err
	}
	h.uses(manifest.Note)
	return h, nil
}

// Recorded returns the run, nil if its manifest cannot be read.
func (h *Health) Recorded() *Run { return h.recorded }

// Worst returns Damaged if a file that the run needs is damaged or missing, else CutOff if one was cut off, else Whole.
func (h *Health) Worst() FileState {
	worst := Whole
	for _, f := range h.Files {
		switch {
		case f.State == Damaged || f.State == Missing:
			return Damaged
		case f.State == CutOff:
			worst = CutOff
		}
	}
	return worst
}

// add adds a file. One without a state is not there, and need not be.
func (h *Health) add(f FileHealth) {
	if f.State != "" {
		h.Files = append(h.Files, f)
	}
}

func (h *Health) manifest(dir journal.Dir) FileHealth {
	f := FileHealth{File: manifestName, Size: sizeOf(dir, manifestName), State: Whole}
	m, checked, err := dir.CheckManifest()
	if err == nil {
		h.recorded, err = open(dir, m), nil
		_, unrestored := h.recorded.Scenario()
		switch {
		case unrestored != nil:
			f.State, f.Note = Damaged, unrestored.Error()
		case !checked:
			f.State, f.Note = Unchecked, "it has no checksum, as those of earlier versions"
		}
		return f
	}
	f.State, f.Note = Damaged, err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		f.State = Missing
	}
	return f
}

// readJournal reads the journal to its end. Without a manifest its checksums alone say whether it is good.
func (h *Health) readJournal(dir journal.Dir, goesOn bool) FileHealth {
	f := FileHealth{File: journalName, Size: sizeOf(dir, journalName), State: Whole}
	reader, next, err := h.openJournal(dir)
	if err == nil {
		defer func() { _ = reader.Close() }() // a file that is only read
		var entry journal.Entry
		for entry, err = next(); err == nil; entry, err = next() {
			f.note(entry.Event)
		}
		f.Good, f.Records = reader.Offset(), reader.Records()
	}
	var torn *journal.TornError
	switch {
	case errors.Is(err, io.EOF):
		return f
	case errors.Is(err, journal.ErrNoJournal):
		h.journal = err
		return FileHealth{}
	case errors.Is(err, fs.ErrNotExist):
		f.State = Missing
	case errors.As(err, &torn):
		f.Good, f.Records = torn.Offset, torn.Records
		f.State = Damaged
		if cut, e := dir.BreaksOff(torn); e != nil {
			err = e
		} else if cut && h.killed {
			f.State = CutOff
		}
	default:
		f.State = Damaged
	}
	h.journal, f.Note = err, err.Error()
	switch {
	case f.State == CutOff && goesOn:
		f.Note = "the run goes on, and this is what it has written so far"
	case torn != nil && torn.Reason == "":
		f.Note = "it ends there, and nothing says that the run did"
	case torn != nil:
		f.Note = "it is not good from there on: " + torn.Reason
	}
	h.good = f.String()
	return f
}

func (h *Health) openJournal(dir journal.Dir) (*journal.Reader, func() (journal.Entry, error), error) {
	if h.recorded == nil {
		r, err := dir.OpenJournal(nil)
		if err != nil {
			return nil, nil, err
		}
		return r, r.Next, nil
	}
	j, err := h.recorded.OpenJournal()
	if err != nil {
		return nil, nil, err
	}
	return j.Reader, j.Next, nil
}

// note notes the instant of an event.
func (f *FileHealth) note(ev metasim.Event) {
	var at metasim.Instant
	switch ev := ev.(type) {
	case *metasim.Send:
		at = ev.Sent
	case *metasim.Advance:
		at = ev.Now
	case *metasim.PollWait:
		at = ev.Now
	case *metasim.Leave:
		at = ev.Now
	default:
		return
	}
	if f.Until == nil || metasim.Instant(*f.Until).Before(at) {
		f.Until = (*Instant)(&at)
	}
}

func (h *Health) index(dir journal.Dir) FileHealth {
	f := FileHealth{File: indexName, Size: sizeOf(dir, indexName), State: Whole}
	const remade = "; it is made anew from the journal where it is needed"
	x, err := dir.ReadIndex()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return FileHealth{} // a run that was cut off or resumed has none
	case errors.Is(err, journal.ErrIndexVersion):
		f.State, f.Note = Unchecked, "another version of metasim has written it"+remade
		return f
	case err != nil:
		f.State, f.Note = Damaged, err.Error()+remade
		return f
	}
	good, err := dir.CheckIndex(x)
	switch {
	case err != nil:
		f.State, f.Note = Unchecked, "the journal cannot be read to compare it: "+err.Error()
	case !good || h.recorded != nil && len(x.Clients) != len(h.recorded.Manifest.Clients):
		f.State, f.Note = Damaged, "it is not that of this journal"+remade
	}
	return f
}

// others examines the files that a run need not have: the output of its clients, its nested runs, its checkpoints, and files that were not written to their end.
func (h *Health) others(dir journal.Dir, goesOn bool) error {
	known := []string{manifestName, journalName, indexName}
	return fs.WalkDir(os.DirFS(dir.Path()), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && strings.HasPrefix(path, NestedDir) {
			inside, err := Examine(filepath.Join(dir.Path(), path), goesOn)
			if err != nil {
				return nil // it is no run: its files are looked at like any other
			}
			for _, f := range inside.Files {
				f.File = path + "/" + f.File
				h.add(f)
			}
			return fs.SkipDir
		}
		if err != nil || e.IsDir() || slices.Contains(known, path) {
			return err
		}
		f := FileHealth{File: path, Size: sizeOf(dir, path), State: Unchecked, Note: "it has no checksum"}
		switch {
		case strings.HasPrefix(path, "checkpoints/") && !strings.HasSuffix(path, ".partial"):
			h.checkpoint(dir, &f)
		case strings.HasSuffix(path, ".partial"):
			f.Note = "it was not written to its end, and nothing reads it"
		case !e.Type().IsRegular():
			f.Note = "it is no file"
		}
		h.add(f)
		return nil
	})
}

// checkpoint looks at the file of a checkpoint. Its run is that of the manifest, where that can be read.
func (h *Health) checkpoint(dir journal.Dir, f *FileHealth) {
	const unused = "; metasim resume begins at the one before, or at the start"
	f.State = Damaged
	b, err := os.ReadFile(filepath.Join(dir.Path(), f.File))
	if err != nil {
		f.Note = err.Error() + unused
		return
	}
	k, err := past.Parse(b)
	var client, slot uint32
	switch n, _ := fmt.Sscanf(f.File, "checkpoints/%d-%d", &client, &slot); { // what is no number is no client
	case err != nil:
		f.Note = err.Error() + unused
	case n < 2 || uint32(k.Client) != client:
		f.Note = fmt.Sprintf("it is the checkpoint of client %d", k.Client) + unused
	case h.recorded != nil && k.Run != h.recorded.Manifest.Started.UnixNano():
		f.Note = "it is a checkpoint of another run" + unused
	default:
		f.State, f.Note = Whole, fmt.Sprintf("checkpoint %d of %s, at %v", k.Number, h.nameOf(k.Client), k.Saved.Now)
		if h.killed && k.Size > h.journalGood {
			f.Note += fmt.Sprintf(": the journal lacks what led to it, up to byte %d", k.Size) + unused
		}
	}
}

func (h *Health) nameOf(id metasim.ClientID) string {
	if h.recorded == nil || int(id) >= len(h.recorded.Manifest.Clients) {
		return fmt.Sprintf("client %d", id)
	}
	return h.recorded.Manifest.Clients[id]
}

// uses says what the commands that read a run can do with it.
func (h *Health) uses(unreadable string) {
	for _, command := range []string{"log", "report", "replay", "diff"} {
		u := Use{Command: command, Can: "all"}
		switch {
		case h.recorded == nil:
			u.Can, u.Why = "no", unreadable
		case IsBeginning(h.journal):
			u.Can, u.Why = "part", "the journal: "+h.good
		case h.journal != nil:
			u.Can, u.Why = "no", h.journal.Error()
		case command == "report" || command == "replay":
			if _, err := h.recorded.Scenario(); err != nil {
				u.Can, u.Why = "no", err.Error()
			}
		}
		h.Uses = append(h.Uses, u)
	}
}

// sizeOf returns the size of a file, 0 if that is not known.
func sizeOf(dir journal.Dir, name string) int64 {
	info, err := os.Lstat(filepath.Join(dir.Path(), name))
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// String writes what is known of a file in a line, without its name and state.
func (f *FileHealth) String() string {
	text := fmt.Sprintf("%d bytes", f.Size)
	if f.Good > 0 {
		text = fmt.Sprintf("%d of %d bytes, %d records", f.Good, f.Size, f.Records)
	}
	if f.Until != nil {
		text += ", up to " + f.Until.String()
	}
	if f.Note != "" {
		text += ": " + f.Note
	}
	return text
}
