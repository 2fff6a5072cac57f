package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

// piles is a world of so many piles of boxes, each as wide, deep and high as the side says, in a level of its own and far from the others: contacts are the work.
func piles(n, side int) string {
	var b strings.Builder
	b.WriteString(`<sdf version="1.9"><world name="piles"><gravity>0 0 -9.8</gravity><physics name="5ms" type="ignored"><max_step_size>0.005</max_step_size></physics>
<plugin filename="f" name="gz::sim::systems::Physics"/>
<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>`)
	plan := ""
	for k := range n {
		refs := ""
		for m := range side * side * side {
			name := fmt.Sprintf("box%d_%d", k, m)
			fmt.Fprintf(&b, `<model name="%s"><pose>%g %g %g 0 0 0</pose><link name="l"><inertial><mass>1</mass><inertia><ixx>0.16</ixx><iyy>0.16</iyy><izz>0.16</izz></inertia></inertial>
<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>`, name, float64(100*k)+1.02*float64(m%side), 1.02*float64(m/side%side), 0.5+1.01*float64(m/side/side))
			if refs += "<ref>" + name + "</ref>"; m == 0 {
				refs = ""
				plan += fmt.Sprintf(`<performer name="p%d"><ref>%s</ref><geometry><box><size>2 2 2</size></box></geometry></performer>`, k, name)
			}
		}
		plan += fmt.Sprintf(`<level name="L%d"><pose>%d 0 0 0 0 0</pose><geometry><box><size>40 40 40</size></box></geometry><buffer>2</buffer>%s</level>`, k, 100*k, refs)
	}
	return b.String() + `<plugin filename="dummy" name="gz::sim">` + plan + "</plugin></world></sdf>"
}

// ticksOf returns the processor time of a process so far, in hundredths of a second; 0: it has ended.
func ticksOf(pid int) (ticks float64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // it may have ended
	if _, rest, found := strings.Cut(string(text), ") "); found {
		for _, word := range strings.Fields(rest)[11:13] {
			n, _ := strconv.Atoi(word) // the kernel writes numbers
			ticks += float64(n)
		}
	}
	return ticks
}

// watchTicks runs a command, and returns what it printed and the processor time of its process and of each secondary, in seconds.
func watchTicks(b *testing.B, cmd *exec.Cmd) (out worldOutcome, own float64, secondaries map[int]float64) {
	var text bytes.Buffer
	cmd.Stdout = &text
	require.NoError(b, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	secondaries = map[int]float64{}
	for {
		select {
		case err := <-done:
			require.NoError(b, err)
			require.NoError(b, json.Unmarshal(text.Bytes(), &out))
			return out, own, secondaries
		case <-time.After(20 * time.Millisecond):
			own = max(own, ticksOf(cmd.Process.Pid)/100)
			for _, pid := range below(cmd.Process.Pid) {
				environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // it may have ended
				if strings.Contains(string(environ), "METASIM_CLIENT=secondary") {
					secondaries[pid] = max(secondaries[pid], ticksOf(pid)/100)
				}
			}
		}
	}
}

// Four piles with one secondary and with two, in turn, each in a process of its own. Speedup is the ratio of steps in a second, which means nothing on a machine that does something else. Processor is the same
// ratio of what processors have to do one after the other: the world, and the slower secondary, their start included. Piles of more boxes are more work for secondaries, and little more for the world.
func BenchmarkSecondaries(b *testing.B) {
	for _, side := range []int{3, 4} {
		b.Run(fmt.Sprintf("boxes=%d", side*side*side), func(b *testing.B) { benchmarkSecondaries(b, side) })
	}
}

func benchmarkSecondaries(b *testing.B, side int) {
	const steps = 600
	program, dir := testprogram.Shipped(b), b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(dir, "piles.sdf"), []byte(piles(4, side)), 0o644))
	var wall, path, world [3]float64 // by number of secondaries, in seconds of all runs
	states := map[string]bool{}
	for n := range b.N {
		for k := 1; k <= 2; k++ {
			cmd := exec.Command(program, "world", "run", "piles.sdf", "--iterations", strconv.Itoa(steps), "--json", "--progress", "none", "--secondaries", strconv.Itoa(k), "--out", fmt.Sprintf("%d-%d", n, k))
			cmd.Dir = dir
			out, own, secondaries := watchTicks(b, cmd)
			states[out.StateHash] = true
			wall[k] += steps / out.StepsPerS
			world[k] += own
			path[k] += own + slices.Max(slices.Collect(maps.Values(secondaries)))
		}
	}
	require.Len(b, states, 1)
	b.ReportMetric(wall[1]/wall[2], "speedup")
	b.ReportMetric(path[1]/path[2], "processor")
	b.ReportMetric(1e3*world[2]/float64(b.N)/steps, "world-ms/step")
	b.ReportMetric(1e3*(path[2]-world[2])/float64(b.N)/steps, "secondary-ms/step")
}
