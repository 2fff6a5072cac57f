package export

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/lcm"
)

// tool skips a test where a program is missing.
func tool(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED LOUDLY: %s is missing, so no stock tool has read what we write; "+
				"apt-get install liblcm-bin liblcm-java default-jdk-headless nodejs", name)
		}
	}
}

// command runs a tool and returns what it prints.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), "%s: %s%s", name, out.String(), errs.String())
	return out.String()
}

// The stock player plays our log, and liblcm writes what it plays into another log: apart from the times, which are then
// those of the wall clock, the two are the same bytes.
func TestStockPlayer(t *testing.T) {
	tool(t, "lcm-logplayer")
	ours := written(t, carryOut(t, parse(t, mixed), "mem", 2), "lcmlog")
	dir := t.TempDir()
	file, again := filepath.Join(dir, "ours.lcmlog"), filepath.Join(dir, "again.lcmlog")
	require.NoError(t, os.WriteFile(file, ours, 0o644))
	command(t, "lcm-logplayer", "--speed=1000", "--lcm-url=file://"+again+"?mode=w", file)
	theirs, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, len(ours), len(theirs))
	require.Equal(t, timeless(t, ours), timeless(t, theirs))
}

// timeless is a log without its times.
func timeless(t *testing.T, log []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := lcm.NewWriter(&out)
	for _, ev := range events(t, log) {
		ev.Time = 0
		require.NoError(t, w.Write(ev))
	}
	return out.Bytes()
}

// jar is where Debian has the Java tools of LCM.
const jar = "/usr/share/java/lcm.jar"

const dump = `public class Dump {
	public static void main(String[] args) throws Exception {
		var log = new lcm.logging.Log(args[0], "r");
		try {
			while (true) {
				var e = log.readNext();
				System.out.println(e.eventNumber + " " + e.utime + " " + e.channel + " " + java.util.HexFormat.of().formatHex(e.data));
			}
		} catch (java.io.EOFException end) {
		}
	}
}`

// The Java reader opens our log. It passes over events with an empty payload, and says so.
func TestJavaReader(t *testing.T) {
	tool(t, "java", "javac")
	if _, err := os.Stat(jar); err != nil {
		t.Skip("SKIPPED LOUDLY: " + jar + " is missing, so the Java tools have not read our log; apt-get install liblcm-java")
	}
	ours := written(t, carryOut(t, parse(t, mixed), "mem", 2), "lcmlog")
	dir := t.TempDir()
	file, source := filepath.Join(dir, "ours.lcmlog"), filepath.Join(dir, "Dump.java")
	require.NoError(t, os.WriteFile(file, ours, 0o644))
	require.NoError(t, os.WriteFile(source, []byte(dump), 0o644))
	empty := 0
	var want strings.Builder
	for _, ev := range events(t, ours) {
		if len(ev.Payload) == 0 {
			empty++
			continue
		}
		fmt.Fprintf(&want, "%d %d %s %x\n", ev.Number, ev.Time, ev.Channel, ev.Payload)
	}
	said := strings.SplitAfter(command(t, "java", "-cp", jar, source, file), "\n")
	var got strings.Builder
	bad := 0
	for _, line := range said {
		if strings.HasPrefix(line, "Bad log event") {
			bad++
			continue
		}
		got.WriteString(line)
	}
	require.Equal(t, want.String(), got.String())
	require.Positive(t, empty)
	require.Equal(t, empty, bad)
}
