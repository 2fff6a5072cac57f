package sweep

import (
	"encoding/json"
	"os"
	"time"

	"metasim/run"
	"metasim/scenarios"
)

const (
	keptDir     = "runs"
	attemptsDir = "attempts" // of runs that go on: each attempt has its own
)

// retries is how many workers may end while they carry out a run, until it is given up.
const retries = 3

// Options say what a sweep is, and how it is carried out.
type Options struct {
	// File is the scenario, and Overrides change it before anything is varied.
	File      string
	Overrides scenarios.Overrides
	// Vary has more axes, each as a value of the flag --vary. If the scenario has an axis with the same path, the one in Vary is used.
	Vary []string
	// axes replace both, for a sweep that goes on; nil: they do not.
	axes []scenarios.Axis
	// Dir is the directory of the sweep. Empty: sweeps/<name>-<hash> below the working directory, where the hash is of what the sweep is.
	Dir string
	// Workers is how many runs go on at a time; at least 1.
	Workers int
	// Keep keeps the directories of the runs, with their journals, in runs/<id>. Without it a run is done again when it is needed.
	Keep bool
	// Retry does runs again that have failed.
	Retry bool
	// Cluster has workers on hosts of a cluster carry the runs out, one at a time each. Nil: they are carried out here.
	Cluster *Cluster
	// Share has this process be one of several workers that share Dir, without a coordinator. Nil: so it is where others have shared Dir before, and runs are left.
	Share *Share
	// Say is told what happens beside the sweep where workers share Dir: that one was lost. May be nil.
	Say func(text string)
	// How says how each run is carried out. Out, NoJournal and Private are not used.
	How run.Options
}

// A Cluster says how Slurm starts the workers of a sweep.
type Cluster struct {
	// Workers is how many; at least 1. Each has a processor.
	Workers int
	// LaunchOptions are more words for salloc; or, in a job, for srun.
	LaunchOptions []string
	// Remote is where this program is on these hosts.
	Remote string
	// Silence is how long a worker may say nothing until others take its runs, in wall-clock time. Zero: 30 s. Negative: any time.
	Silence time.Duration
	// Say is told what happens beside the sweep: why it waits, and that a worker has ended. May be nil.
	Say func(text string)
}

// A Share says how a worker goes along with others that share its directory.
type Share struct {
	// Silence is how long another worker may say nothing until this one takes its runs over, in wall-clock time. Zero: 30 s. Negative: any time.
	Silence time.Duration
}

// A Plan says what a sweep is: sweep.json.
type Plan struct {
	Format    int                 `json:"format"`
	Scenario  string              `json:"scenario"`
	File      string              `json:"file"` // an absolute path
	Overrides scenarios.Overrides `json:"overrides"`
	Axes      []scenarios.Axis    `json:"axes"`
	// Base is the scenario with nothing varied, resolved, without the values of env.
	Base json.RawMessage `json:"base"`
}

// A Row is what came of one run: a line of results.jsonl.
type Row struct {
	ID      int               `json:"id"`      // from 0; the last axis varies fastest
	Attempt int               `json:"attempt"` // from 1
	Values  []json.RawMessage `json:"values"`  // one of each axis
	OK      bool              `json:"ok"`
	Error   string            `json:"error,omitempty"`
	// Poison says that the run was given up, as workers were lost while they carried it out.
	Poison bool `json:"poison,omitempty"`
	// The digests are those of metasim run.
	Digest        string  `json:"digest,omitempty"`
	SendsDigest   string  `json:"sends_digest,omitempty"`
	ResultsDigest string  `json:"results_digest,omitempty"`
	EndNS         int64   `json:"end_ns"`
	WallS         float64 `json:"wall_s"`
	// HeldS is for how long others waited for each client, in seconds; those of which it is under a microsecond are not in it.
	HeldS map[string]float64 `json:"held_s,omitempty"`
	// Results are what the clients left with, by name; clients that left with nothing are not in it.
	Results map[string]json.RawMessage `json:"results,omitempty"`
}

// A Status says how far a sweep has come.
type Status struct {
	Scenario string `json:"scenario"`
	Dir      string `json:"dir"`
	Runs     int    `json:"runs"`
	Done     int    `json:"done"`   // also those that failed
	Failed   int    `json:"failed"` // of done
	// Poison are the ids of those that failed because workers were lost while they carried them out.
	Poison []int `json:"poison,omitempty"`
}

// A place says where the line of a run is in results.jsonl.
type place struct {
	at      int64
	size    int32
	attempt int32 // 0: the run has no line
	ok      bool
	poison  bool
}

// results is results.jsonl.
type results struct {
	*os.File
	end    int64
	places []place // by id
}
