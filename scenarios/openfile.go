package scenarios

import "io"

// OpenFile opens a file that a model's parameter names, as Scenario.Open does, for a model that lives in another process
// than the scenario: below dir, unless outside is set.
func OpenFile(dir, name string, outside bool) (io.ReadCloser, error) {
	return directory{dir, outside}.open(name)
}
