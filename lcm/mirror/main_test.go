package mirror

import (
	"os"
	"testing"

	"metasim/internal/netns"
)

func TestMain(m *testing.M) { os.Exit(netns.Main(m)) }
