package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// arrays sends numbers to itself, as WITH has them, and reads them from the payload where it lies.
const arrays = `
import sys
import metasim

with metasim.Client() as c:
    out = c.publication("X")
    c.subscribe("X")
    c.join()
    if sys.argv[1] == "numpy":
        import numpy
        numbers = numpy.arange(6, dtype="<f8").reshape(2, 3)
        read = lambda payload: numpy.frombuffer(payload)
        expected = numpy.arange(6.0)
    else:
        from array import array
        numbers = array("d", range(6))
        read = lambda payload: payload.cast("d")
        expected = list(range(6))
    out.publish(numbers)
    out.publish(memoryview(bytes(numbers)))
    out.publish(bytearray(bytes(numbers)))
    seen = [read(m.payload) for m in c.messages()]
    assert len(seen) == 3, seen
    for x in seen:
        assert list(x) == list(expected), x
    c.set_result({"numbers": len(seen)})
`

// What has a buffer is published as its bytes, and a payload is read without a copy: by the buffer protocol, and by numpy where that is installed.
func TestBuffers(t *testing.T) {
	t.Parallel()
	interpreter := python(t)
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	script := filepath.Join(t.TempDir(), "arrays.py")
	require.NoError(t, os.WriteFile(script, []byte(arrays), 0o600))
	for _, with := range []string{"buffers", "numpy"} {
		t.Run(with, func(t *testing.T) {
			interpreter := interpreter
			has := func() bool { return exec.Command(interpreter, "-c", "import numpy").Run() == nil }
			if with == "numpy" && !has() {
				interpreter = "/usr/bin/python3" // that of the system, for which its package is
			}
			if with == "numpy" && !has() {
				t.Skip("SKIPPED LOUDLY: there is no numpy, so payloads were read by the buffer protocol alone; install python3-numpy")
			}
			carryOut(t, "name: x\nclients:\n  - {name: a, run: ["+interpreter+", -B, "+script+", "+with+"], env: [PYTHONPATH="+library+"]}\n", "unix")
		})
	}
}
