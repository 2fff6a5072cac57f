//go:build !unix

package journal

import "os"

// lock does nothing: whoever resumes a run sees to it that the run does not go on.
func lock(*os.File) error { return nil }
