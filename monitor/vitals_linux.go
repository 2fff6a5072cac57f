package monitor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// userHZ is the unit of times in /proc: it is 100 on every Linux that Go runs on, whatever the kernel counts in.
const userHZ = 100

// maxThreads is how many threads of a process are looked at: a thousand would cost more than they tell.
const maxThreads = 200

// procDir is where the system shows a process.
func procDir(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid)) }

// probe looks at a process in /proc.
func probe(pid int) glimpse {
	dir := procDir(pid)
	main, cpu, ok := readStat(dir)
	if !ok {
		return glimpse{condition: HasEnded}
	}
	g := glimpse{at: time.Now(), condition: conditions[main], cpu: cpu}
	switch g.condition {
	case Sleeps:
		g.lookAtThreads(dir)
	case Stuck:
		if call := waitsFor(dir); call != "" {
			g.in = "it waits " + call
		}
	case Traced:
		g.tracer = tracer(dir)
	}
	return g
}

// conditions are the states of proc(5).
var conditions = map[byte]Condition{
	'R': Runs, 'S': Sleeps, 'I': Sleeps, 'D': Stuck, 'T': Stopped, 't': Traced, 'Z': HasEnded, 'X': HasEnded,
}

// lookAtThreads is for a process whose first thread sleeps: others may compute.
func (g *glimpse) lookAtThreads(dir string) {
	tasks, err := filepath.Glob(filepath.Join(dir, "task", "*"))
	if err != nil || len(tasks) <= 1 {
		if call := waitsFor(dir); call != "" {
			g.in = "it waits " + call
		}
		return
	}
	var calls []string
	for _, task := range tasks[:min(len(tasks), maxThreads)] {
		if c, _, ok := readStat(task); ok && (conditions[c] == Runs || conditions[c] == Stuck) {
			g.condition = conditions[c]
			return
		}
		calls = append(calls, waitsFor(task))
	}
	g.in = fmt.Sprintf("its %d threads wait", len(tasks)) + together(calls)
}

// readStat reads the state and the CPU time of a process or a thread. The name of its program, which comes before them, may
// hold anything, and is in parentheses.
func readStat(dir string) (state byte, cpu time.Duration, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const utime, stime = 11, 12 // counted from the state on
	if len(fields) <= stime || len(fields[0]) != 1 {
		return 0, 0, false
	}
	for _, f := range fields[utime : stime+1] {
		ticks, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, 0, false
		}
		cpu += time.Duration(ticks) * time.Second / userHZ
	}
	return fields[0][0], cpu, true
}

// tracer says who holds a process, as far as the system tells.
func tracer(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), "\nTracerPid:")
	line, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid == 0 {
		return ""
	}
	name, err := os.ReadFile(filepath.Join(procDir(pid), "comm"))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s, process %d", plain(strings.TrimSpace(string(name))), pid)
}

// worker is who does the work of a process that was started: itself, or where it is a script that waits for a program, the
// program.
func worker(pid int) int {
	const generations = 8
	for range generations {
		dir := filepath.Join(procDir(pid), "task", strconv.Itoa(pid))
		if waitsFor(dir) != forChild {
			return pid
		}
		children, err := os.ReadFile(filepath.Join(dir, "children"))
		if err != nil {
			return pid
		}
		all := strings.Fields(string(children))
		if len(all) != 1 {
			return pid
		}
		child, err := strconv.Atoi(all[0])
		if err != nil {
			return pid
		}
		pid = child
	}
	return pid
}
