// Package clients_test holds the client libraries in other languages to what the reference client does: they play the vectors, and take
// the places of built-in models in runs whose digests stay.
package clients_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
	"metasim/run"
	"metasim/scenarios"
)

func TestMain(m *testing.M) {
	status := testprogram.Main(m, servants)
	if objects.dir != "" {
		if err := os.RemoveAll(objects.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

var (
	strict    = []string{"-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O2", "-Ic", "-Icpp"}
	sanitized = []string{"-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
)

// objects are what was compiled of c/metasim.c, by the flags: once for all tests.
var objects struct {
	sync.Mutex
	dir   string
	files map[string]string
}

// object compiles the library for C.
func object(t testing.TB, flags []string) string {
	t.Helper()
	objects.Lock()
	defer objects.Unlock()
	if objects.dir == "" {
		dir, err := os.MkdirTemp("", "metasim-objects")
		require.NoError(t, err)
		objects.dir, objects.files = dir, map[string]string{}
	}
	key := strings.Join(flags, " ")
	if objects.files[key] == "" {
		file := filepath.Join(objects.dir, fmt.Sprintf("%d.o", len(objects.files)))
		command(t, compiler(t, "gcc"), slices.Concat([]string{"-std=c99", "-c", "-o", file, "c/metasim.c"}, strict, flags)...)
		objects.files[key] = file
	}
	return objects.files[key]
}

// command runs a program, and returns what it wrote.
func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
	return string(out)
}

// compiler returns gcc or its like, or skips.
func compiler(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED LOUDLY: there is no %s, so its client library is not tested; install %s", name, name)
	}
	return path
}

// compile makes a program of C or C++, without a warning. The last of the files may be objects and libraries.
func compile(t testing.TB, flags []string, files ...string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(files[0]), filepath.Ext(files[0])))
	cc, std := "gcc", "-std=c99"
	if strings.HasSuffix(files[0], ".cpp") {
		cc, std = "g++", "-std=c++17"
	}
	command(t, compiler(t, cc), slices.Concat([]string{std, "-o", program}, strict, flags, files)...)
	return program
}

// The library is C99 and C++, without a warning, for each compiler that is here; and small.
func TestCompilesEverywhere(t *testing.T) {
	t.Parallel()
	dir, some := t.TempDir(), false
	for _, cc := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(cc); err != nil {
			continue
		}
		some = true
		object := filepath.Join(dir, cc+".o")
		command(t, cc, append([]string{"-std=c99", "-c", "-o", object, "c/metasim.c"}, strict...)...)
		if size, err := exec.LookPath("size"); err == nil {
			fields := strings.Fields(command(t, size, "-B", object))
			require.Less(t, len(fields[6]), 6, "the code has %s bytes; less than 100,000 were promised", fields[6])
		}
	}
	if !some {
		t.Skip("SKIPPED LOUDLY: there is no C compiler, so the C library is not tested; install gcc")
	}
}

// The library in C says in each session what the reference client says.
func TestCPlaysTheVectors(t *testing.T) {
	t.Parallel()
	python := python(t)
	player := compile(t, sanitized, "c/test/player.c")
	require.Regexp(t, `^[89]\d played, 0 of them wrong, 1\d skipped\n$`, command(t, python, "-B", "../conformance/drive.py", player))
}

// python returns the interpreter, or skips.
func python(t testing.TB) string {
	t.Helper()
	path, err := interpreter()
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no python3, so its client library is not tested, and no other plays the vectors; install python3")
	}
	return path
}

// interpreter asks python3 which file it is: what is in the PATH may be a script that looks for it each time.
var interpreter = sync.OnceValues(func() (string, error) {
	path, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(path)), err
})

// So does the one in Python.
func TestPythonPlaysTheVectors(t *testing.T) {
	t.Parallel()
	python := python(t)
	require.Regexp(t, `^[89]\d played, 0 of them wrong, 1\d skipped\n$`,
		command(t, python, "-B", "../conformance/drive.py", "env PYTHONPATH=python "+python+" -B python/tests/player.py"))
}

// An outcome is what must be the same, whoever plays a client.
type outcome struct{ digest, sends, results string }

func carryOut(t *testing.T, text, transport string, files ...string) outcome {
	t.Helper()
	out, dir := carriedOut(t, text, transport)
	require.True(t, out.OK, out.Error)
	for _, name := range files {
		require.FileExists(t, filepath.Join(dir, name))
	}
	return outcome{out.Digest, out.SendsDigest, out.ResultsDigest}
}

// carriedOut carries out a scenario that may fail, and returns its directory too.
func carriedOut(t *testing.T, text, transport string) (out *run.Outcome, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	self, err := os.Executable()
	require.NoError(t, err)
	sc, _, err := scenarios.Parse("x.metasim.yaml", []byte(text), scenarios.Overrides{AllowOutside: true})
	require.NoError(t, err)
	out, err = run.Scenario(t.Context(), sc, run.Options{Out: dir, Transport: transport, Self: []string{self}, AllowOutside: true})
	require.NoError(t, err)
	return out, dir
}

// written puts clients into a scenario, in the places of words.
func written(text string, first, then map[string]string) string {
	for _, words := range []map[string]string{first, then} {
		for word, client := range words {
			text = strings.ReplaceAll(text, word, client)
		}
	}
	return text
}

// Clients in C, C++ and Python in the places of built-in ones give the same run, over each transport that they have.
func TestInThePlaceOfBuiltIn(t *testing.T) {
	t.Parallel()
	const (
		flow     = "name: x\nuntil: 200ms\nclients:\n  - {name: a, SOURCE}\n  - {name: b, ECHO}\n  - {name: c, model: sink, with: {channels: [Y]}}\nlinks: [{delay: 1ms}]\n"
		pingPong = "name: x\nuntil: 1s\nclients:\n  - {name: a, PING}\n  - {name: b, ECHO}\nlinks: [{delay: 1ms}]\n"
	)
	builtIn := map[string]string{
		"SOURCE": "model: source, with: {channel: X, period: 100us}", "ECHO": "model: echo, with: {in: X, out: Y}",
		"PING": "model: ping, with: {out: X, in: Y, rounds: 100}",
	}
	others := map[string]map[string]string{
		"c": {
			"SOURCE": "run: [" + compile(t, sanitized, "c/examples/source.c", object(t, sanitized)) + ", X, '100000']",
			"ECHO":   "run: [" + compile(t, sanitized, "c/examples/echo.c", object(t, sanitized)) + ", X, Y]",
		},
		"cpp": {
			"ECHO": "run: [" + compile(t, sanitized, "cpp/examples/echo.cpp", object(t, sanitized)) + ", X, Y]",
			"PING": "run: [" + compile(t, sanitized, "cpp/examples/ping.cpp", object(t, sanitized)) + ", X, Y, '100']",
		},
	}
	if interpreter, err := interpreter(); err == nil {
		library, err := filepath.Abs("python")
		require.NoError(t, err)
		program := func(name, args string) string {
			return "env: [PYTHONPATH=" + library + "], run: [" + interpreter + ", -B, " + filepath.Join(library, "examples", name) + ", " + args + "]"
		}
		others["python"] = map[string]string{
			"SOURCE": program("source.py", "X, '100000'"), "ECHO": program("echo.py", "X, Y"), "PING": program("ping.py", "X, Y, '100'"),
		}
	} else {
		t.Run("python", func(t *testing.T) {
			t.Skip("SKIPPED LOUDLY: there is no python3, so its client library is not tried in runs; install python3")
		})
	}
	for name, text := range map[string]string{"flow": flow, "ping-pong": pingPong} {
		want := carryOut(t, written(text, nil, builtIn), "mem")
		for language, clients := range others {
			for _, transport := range []string{"unix", "tcp", "shm"} {
				t.Run(name+"/"+language+"/"+transport, func(t *testing.T) {
					t.Parallel()
					require.Equal(t, want, carryOut(t, written(text, clients, builtIn), transport))
				})
			}
		}
	}
}

// Messages that are larger than a ring of shared memory go through it in Python, in both directions at once.
func TestPythonOverSharedMemory(t *testing.T) {
	t.Parallel()
	const text = "name: x\nuntil: 5ms\nclients:\n  - {name: a, model: source, with: {channel: X, period: 1ms, size: 1000000}}\n  - {name: b, ECHO}\n" +
		"  - {name: c, model: sink, with: {channels: [Y]}}\nlinks: [{delay: 1ms}]\n"
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	echo := "env: [PYTHONPATH=" + library + "], run: [" + python(t) + ", -B, " + filepath.Join(library, "examples", "echo.py") + ", X, Y]"
	require.Equal(t, carryOut(t, strings.Replace(text, "ECHO", "model: echo, with: {in: X, out: Y}", 1), "mem"), carryOut(t, strings.Replace(text, "ECHO", echo, 1), "shm"))
	alone := exec.CommandContext(t.Context(), python(t), "-B", "-c", "import metasim; metasim.Client(name='b', server='shm:///no/such').join()")
	alone.Env = append(os.Environ(), "PYTHONPATH="+library, "LC_ALL=C")
	out, err := alone.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), `client "b": nobody answers at shm:///no/such: No such file or directory; start the server first`)
}

// What goes wrong is said in one sentence, and the exit status is not 0.
func TestCSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	echo := compile(t, sanitized, "c/examples/echo.c", object(t, sanitized))
	for _, c := range []struct{ server, name, want string }{
		{"", "b", `client "b": "" is no server that this library reaches; use unix:///path, tcp://host:port or shm:///path, or set METASIM_SERVER; for tls and quic start metasim relay, and use its address`},
		{"quic://h:1", "b", `client "b": "quic://h:1" is no server that this library reaches; use unix:///path, tcp://host:port or shm:///path, or set METASIM_SERVER; for tls and quic start metasim relay, and use its address`},
		{"unix:///no/such", "b", `client "b": nobody answers at unix:///no/such: No such file or directory; start the server first`},
		{"unix://x", "b", `client "b": unix://x names no socket; write unix:///path, at most 107 bytes long`},
		{"tcp://127.0.0.1:1", "b", `client "b": nobody answers at tcp://127.0.0.1:1: Connection refused; start the server first`},
		{"tcp://127.0.0.1", "b", `client "b": tcp://127.0.0.1 names no host and port; write tcp://host:port`},
		{"unix:///no/such", "", `the client has no name; give metasim_new one, or set METASIM_CLIENT`},
	} {
		cmd := exec.CommandContext(t.Context(), echo, "X", "Y")
		cmd.Env = append(os.Environ(), "LC_ALL=C", "METASIM_SERVER="+c.server, "METASIM_CLIENT="+c.name, "METASIM_TOKEN=")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, 1, exit.ExitCode())
		require.Equal(t, "echo: "+c.want+"\n", string(out))
	}
}

// What `make install` puts in place is found by pkg-config, and by CMake where there is one.
func TestInstalls(t *testing.T) {
	compiler(t, "gcc")
	pkgConfig := compiler(t, "pkg-config")
	prefix, work := filepath.Join(t.TempDir(), "a prefix"), filepath.Join(t.TempDir(), "clients")
	require.NoError(t, os.CopyFS(work, os.DirFS(".")))
	for _, to := range []string{filepath.Join(t.TempDir(), "elsewhere"), prefix} { // what an earlier call has left is not installed
		command(t, "make", "-s", "-C", filepath.Join(work, "c"), "install", "PREFIX="+to)
	}
	t.Setenv("PKG_CONFIG_PATH", filepath.Join(prefix, "lib", "pkgconfig"))
	version := strings.TrimSpace(command(t, pkgConfig, "--modversion", "metasim"))
	var flags []string
	for _, f := range strings.Fields(strings.ReplaceAll(command(t, pkgConfig, "--cflags", "--libs", "metasim"), `\ `, "\x00")) {
		flags = append(flags, strings.ReplaceAll(f, "\x00", " "))
	}
	program := filepath.Join(t.TempDir(), "echo")
	command(t, "gcc", append([]string{"-std=c99", "-o", program, "c/examples/echo.c"}, flags...)...)
	cmd := exec.CommandContext(t.Context(), program, "X", "Y")
	cmd.Env = []string{"LD_LIBRARY_PATH=" + filepath.Join(prefix, "lib"), "METASIM_CLIENT=b"}
	out, err := cmd.CombinedOutput()
	require.True(t, errors.As(err, new(*exec.ExitError)), "%v: %s", err, out)
	require.Contains(t, string(out), "is no server that this library reaches")

	t.Run("pip", func(t *testing.T) {
		python := python(t)
		if out, err := exec.CommandContext(t.Context(), python, "-m", "pip", "--version").CombinedOutput(); err != nil {
			t.Skipf("SKIPPED LOUDLY: this python3 has no pip, so the package for it was not tried; install python3-pip: %s", out)
		}
		target := t.TempDir()
		command(t, python, "-m", "pip", "install", "--quiet", "--no-index", "--target", target, filepath.Join(work, "python"))
		t.Setenv("PYTHONPATH", target)
		const ask = "import importlib.metadata, metasim; print(metasim.SendBeforePromiseError.code, importlib.metadata.version('metasim'))"
		require.Equal(t, "send-before-promise "+version+"\n", command(t, python, "-B", "-c", ask))
	})

	t.Run("cmake", func(t *testing.T) {
		cmake, err := exec.LookPath("cmake")
		if err != nil {
			t.Skip("SKIPPED LOUDLY: there is no cmake, so the package for it was not tried; install cmake")
		}
		project := t.TempDir()
		list := "cmake_minimum_required(VERSION 3.10)\nproject(x C CXX)\nset(CMAKE_CXX_STANDARD 17)\nfind_package(metasim " + version + " REQUIRED)\n" +
			"add_executable(echo echo.c)\ntarget_link_libraries(echo metasim::static)\nadd_executable(ping ping.cpp)\ntarget_link_libraries(ping metasim::metasim)\n"
		require.NoError(t, os.WriteFile(filepath.Join(project, "CMakeLists.txt"), []byte(list), 0o600))
		for from, to := range map[string]string{"c/examples/echo.c": "echo.c", "cpp/examples/ping.cpp": "ping.cpp"} {
			text, err := os.ReadFile(from)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(project, to), text, 0o600))
		}
		command(t, cmake, "-S", project, "-B", project, "-DCMAKE_PREFIX_PATH="+prefix)
		command(t, cmake, "--build", project)
		newer := strings.Replace(list, version, "2.999", 1)
		require.NoError(t, os.WriteFile(filepath.Join(project, "CMakeLists.txt"), []byte(newer), 0o600))
		out, err := exec.CommandContext(t.Context(), cmake, "-S", project, "-B", filepath.Join(project, "newer"), "-DCMAKE_PREFIX_PATH="+prefix).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), `compatible with requested version "2.999"`)
	})
}

// What docs/embed.md shows compiles and runs as it is written there.
func TestTheTutorial(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/embed.md")
	require.NoError(t, err)
	block := func(language string) string {
		_, rest, found := strings.Cut(string(page), "```"+language+"\n")
		require.True(t, found, language)
		text, _, _ := strings.Cut(rest, "```")
		return text
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	mine := compile(t, nil, write("mine.c", block("c")), object(t, nil))
	require.Contains(t, block("yaml"), "./mine")
	text := strings.ReplaceAll(block("yaml"), "./mine", mine)
	builtIn := strings.ReplaceAll(text, "run: ["+mine+"]", "model: echo, with: {in: WORDS, out: ANSWERS}")
	require.NotEqual(t, text, builtIn)
	got, want := carryOut(t, text, "unix"), carryOut(t, builtIn, "mem")
	got.results, want.results = "", "" // it has none
	require.Equal(t, want, got)

	script := write("mine.py", block("python"))
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	got = carryOut(t, strings.ReplaceAll(block("yaml"), "[./mine]", "["+python(t)+", -B, "+script+"], env: [PYTHONPATH="+library+"]"), "unix")
	got.results = ""
	require.Equal(t, want, got)

	tick := compile(t, nil, write("tick.cpp", block("cpp")), object(t, nil))
	const clients = "name: x\nuntil: 95ms\nclients:\n  - {name: mine, run: [%]}\n  - {name: b, model: sink, with: {channels: [TICK]}}\nlinks: [{delay: 1ms}]\n"
	carryOut(t, strings.ReplaceAll(clients, "%", tick), "unix")
}
