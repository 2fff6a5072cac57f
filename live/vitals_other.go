//go:build !linux

package live

import "time"

// probe knows nothing: this system does not show its processes as files.
func probe(int) (glimpse, bool) { return glimpse{at: time.Now(), condition: Unknown}, false }
