package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

// onFileSystem runs a script of the shell in which $DISK is a file system of its own, mounted with these options, and $M is metasim.
func (s *stage) onFileSystem(options, script string) string {
	s.Helper()
	self, err := os.Executable()
	require.NoError(s, err)
	disk := filepath.Join(s.dir, "disk")
	require.NoError(s, os.MkdirAll(disk, 0o700))
	if out, err := exec.Command("unshare", "-Urm", "mount", "-t", "tmpfs", "none", disk).CombinedOutput(); err != nil {
		s.Skipf("SKIPPED LOUDLY: this user cannot mount a file system of his own, so no disk is filled: %v: %s", err, out)
	}
	cmd := exec.Command("unshare", "-Urm", "sh", "-c", `mount -t tmpfs -o "$1" none "$DISK" && eval "$2"`, "sh", options, script)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), testprogram.Env("metasim"), "TMPDIR="+s.temp, "DISK="+disk, "M="+self)
	out, err := cmd.CombinedOutput()
	require.NoError(s, err, "%s", out)
	s.Logf("%s", out)
	return string(out)
}

// A run whose disk is full ends and says so; what it has written can be used. One whose disk is full from the beginning leaves nothing.
func TestAFullDisk(t *testing.T) {
	s := newStage(t)
	s.file("long.yaml", long)
	const script = `"$M" run long.yaml --out "$DISK/r" --transport unix --progress none; echo "run: status $?"
for c in fsck log replay; do "$M" $c "$DISK/r" >"$TMPDIR/out" 2>&1; echo "$c: status $?"; done
"$M" fsck "$DISK/r"; true`
	out := s.onFileSystem("size=256k", script)
	require.Contains(t, out, "the run cannot be recorded: writing the journal: write ")
	require.Contains(t, out, "no space left on device")
	require.Contains(t, out, "run: status 1\nfsck: status 1\nlog: status 3\nreplay: status 3\n")
	require.Regexp(t, `(?m)^journal +damaged +\d{6} of \d{6} bytes`, out)
	require.Regexp(t, `(?m)^log +part `, out)
	out = s.onFileSystem("size=4k", `"$M" run long.yaml --out "$DISK/r" --transport unix --progress none; echo "status $?"; ls "$DISK"; echo "left: $?"`)
	require.Contains(t, out, "no space left on device")
	require.Contains(t, out, "status 1\nleft: 0\n")
}

// A run in a place where nothing can be written does not begin. One that is there can be read.
func TestADiskThatIsOnlyRead(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	out := s.onFileSystem("size=4m", `"$M" run p.yaml --out "$DISK/r" >"$TMPDIR/out"; mount -o remount,ro "$DISK"
"$M" run p.yaml --out "$DISK/s"; echo "run: status $?"
for c in fsck log report replay "diff $DISK/r"; do "$M" $c "$DISK/r" >"$TMPDIR/out"; echo "$c: status $?" | sed "s| /.*:|:|"; done`)
	require.Contains(t, out, "the directory of the run cannot be made: mkdir ")
	require.Contains(t, out, "read-only file system; name another one with --out\nrun: status 1\n")
	require.Contains(t, out, "fsck: status 0\nlog: status 0\nreport: status 0\nreplay: status 0\ndiff: status 0\n")
}

// Where a disk is full before a sweep has ended, no run of it has failed: the sweep ends, and goes on once there is room.
func TestASweepOnAFullDisk(t *testing.T) {
	for _, keep := range []string{"", "--keep"} {
		t.Run(keep, func(t *testing.T) {
			s := newStage(t)
			s.file("s.yaml", swept)
			out := s.onFileSystem("size=40k", `sweep() { "$M" sweep s.yaml --out "$DISK/o" -j 1 --progress none `+keep+`; echo "status $?"; }
sweep 2>&1; "$M" sweep status "$DISK/o"; mount -o remount,size=8m "$DISK"; sweep`)
			require.Contains(t, out, "no space left on device")
			require.Contains(t, out, "and the same command goes on\nstatus 1\n")
			require.Regexp(t, `(?m)^swept: \d{1,2} of 100 runs done, 0 failed$`, out, "what metasim sweep status says")
			require.Contains(t, out, "100 of 100 runs done, 0 failed, ")
			require.Contains(t, out, "status 0\n")
		})
	}
}
