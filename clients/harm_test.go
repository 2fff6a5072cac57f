package clients_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var fuzzed = flag.Int("fuzzed", 5000, "how often libFuzzer tries the library for C")

// What libFuzzer has found, in hexadecimal.
var found = []string{
	// Two messages without a channel: memcmp was given a null pointer, with a length of 0.
	"0c0000000a0a1a080a0464656d6f10070c0000000a0a22080a06088094ebdc03090000000a0772050801120162170000000a15621308011001220158320508c096b1023a03356d731d0000" +
		"000a1b62190802100118ffffff45320708c096b10210013a05356d732b311a0000000a18621608041001180318181818181818181818181818181818181818181818181818181818181818" +
		"1818181818181818181818181818181818181818181818181818181818181818181818181818181818181822015832050880b489133a0434306d730b0000000a096a070a05088016080d10" +
		"0118000a096a070a050880bbb021",
	// A packet that is a number: a pointer was moved by it, though nothing was read there.
	"1500000010ffffffffffffffffff010c00088094eb0a131a110a0464656d6f10ffffffffffffffffff010c00088094ebdc03",
}

// Bytes that are not the protocol harm no client in C: frames of servers in the vectors, damaged in many ways.
func TestCTakesNoHarm(t *testing.T) {
	t.Parallel()
	fuzz := compile(t, sanitized, "c/test/fuzz.c")
	frames := serverFrames(t)
	r := rand.New(rand.NewPCG(1, 2))
	const inputs = 20_000
	var all bytes.Buffer
	add := func(input []byte) {
		all.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(input))))
		all.Write(input)
	}
	for _, text := range found {
		input, err := hex.DecodeString(text)
		require.NoError(t, err)
		add(input)
	}
	for range 500 { // answers of a service, most of them to the client
		input := append(make([]byte, 8), byte(r.IntN(3)), byte(5+r.IntN(3)), byte(r.IntN(20)/19))
		add(append(input, "fuzzed and more"[:r.IntN(16)]...))
	}
	for range inputs {
		input := bytes.Clone(frames[r.IntN(len(frames))])
		for range r.IntN(4) {
			switch at := r.IntN(len(input)); r.IntN(4) {
			case 0:
				input[at] = byte(r.Uint32())
			case 1:
				input[at] ^= 1 << r.IntN(8)
			case 2:
				input = append(input[:at:at], input[min(len(input), at+1+r.IntN(8)):]...)
			default:
				input = append(input[:at:at], append(bytes.Clone(frames[r.IntN(len(frames))]), input[at:]...)...)
			}
			if len(input) == 0 {
				input = []byte{0}
			}
		}
		add(input)
	}
	cmd := exec.CommandContext(t.Context(), fuzz)
	cmd.Stdin = &all
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// libFuzzer finds no harm either, in a moment. -fuzzed=1000000 gives it longer.
func TestCUnderLibFuzzer(t *testing.T) {
	clang, err := exec.LookPath("clang")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no clang, so libFuzzer did not try the library for C, and its warnings are not known; install clang libclang-rt-14-dev")
	}
	dir := t.TempDir()
	fuzz, corpus := filepath.Join(dir, "fuzz"), filepath.Join(dir, "corpus")
	if out, err := exec.CommandContext(t.Context(), clang, "-std=c99", "-g", "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all", "-DLIBFUZZER", "-Ic", "-o", fuzz,
		"c/test/fuzz.c").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED LOUDLY: this clang has no libFuzzer, so it did not try the library for C; install libclang-rt-14-dev or its like: %s", out)
	}
	require.NoError(t, os.Mkdir(corpus, 0o700))
	inputs := serverFrames(t)
	for _, text := range found { // clang's sanitizers see what those of gcc do not
		input, err := hex.DecodeString(text)
		require.NoError(t, err)
		inputs = append(inputs, input)
	}
	for i, session := range inputs {
		require.NoError(t, os.WriteFile(filepath.Join(corpus, strconv.Itoa(i)), session, 0o600))
	}
	command(t, fuzz, "-runs="+strconv.Itoa(*fuzzed), "-seed=1", "-max_len=65536", "-artifact_prefix="+dir+"/", corpus)
}

// serverFrames returns what servers say in the vectors, a session each, from Welcome on.
func serverFrames(t *testing.T) (sessions [][]byte) {
	t.Helper()
	files, err := filepath.Glob("../conformance/vectors/*.json")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var stories []struct {
			Steps []struct {
				In    json.RawMessage `json:"in"`
				Frame string          `json:"frame"`
			} `json:"steps"`
		}
		require.NoError(t, json.Unmarshal(text, &stories))
		for _, story := range stories {
			var session []byte
			for _, step := range story.Steps {
				if step.In != nil {
					frame, err := hex.DecodeString(step.Frame)
					require.NoError(t, err)
					session = append(session, frame...)
				}
			}
			if len(session) > 0 {
				sessions = append(sessions, session)
			}
		}
	}
	require.Greater(t, len(sessions), 50)
	return sessions
}

// No memory is lost, and none is read that was not written, as far as valgrind sees: the sanitizers do not see all of it.
func TestCUnderValgrind(t *testing.T) {
	t.Parallel()
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no valgrind, so only the sanitizers looked at the C library; install valgrind")
	}
	echo := compile(t, []string{"-g"}, "c/examples/echo.c", object(t, []string{"-g"}))
	text := "name: x\nuntil: 50ms\nclients:\n  - {name: a, model: source, with: {channel: X, period: 1ms}}\n" +
		"  - {name: b, run: [" + valgrind + ", -q, --error-exitcode=9, --leak-check=full, --track-fds=no, " + echo + ", X, Y]}\nlinks: [{delay: 1ms}]\n"
	for _, transport := range []string{"unix", "shm"} {
		carryOut(t, text, transport)
	}
}
