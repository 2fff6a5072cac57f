package clients_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client is told its part in the scenario: which of its entry's clients it is, the parameters, and where its files may lie.
func TestToldItsPart(t *testing.T) {
	t.Parallel()
	const (
		inPython = `import metasim
with metasim.Client() as c:
    c.join()
    assert (c.name, c.entry, c.index, c.count) == ("p-1", "p", 1, 2) or c.index == 0, (c.name, c.entry, c.index, c.count)
    assert c.parameters == {"mass": 3.5, "wheels": [1, 2]}, c.parameters
    open(f"{c.directory}/{c.name}.txt", "x").close()
`
		inCpp = `#include <metasim.hpp>
#include <fstream>
int main()
{
    metasim::client c;
    c.join();
    if (c.entry() != "d" || c.index() != 0 || c.count() != 1 || c.with() != "{\"mass\":1}" || c.rand("x").unit() >= 1)
        c.fail(c.entry() + c.with());
    std::ofstream(c.directory() + "/d.txt") << c.rand("x")();
    c.leave();
}
`
	)
	interpreter := python(t)
	dir := t.TempDir()
	script, program := filepath.Join(dir, "p.py"), filepath.Join(dir, "d.cpp")
	require.NoError(t, os.WriteFile(script, []byte(inPython), 0o600))
	require.NoError(t, os.WriteFile(program, []byte(inCpp), 0o600))
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	carryOut(t, "name: x\nclients:\n  - {name: p, count: 2, run: ["+interpreter+", -B, "+script+"], env: [PYTHONPATH="+library+"], with: {mass: 3.5, wheels: [1, 2]}}\n"+
		"  - {name: d, run: ["+compile(t, nil, program, object(t, nil))+"], with: {mass: 1}}\n", "unix", "p-0.txt", "p-1.txt", "d.txt")
}
