package scenarios

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Checking a scenario needs the descriptions of the models and nothing that runs one.
func TestScenariosLinkNoModel(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".", "./...").Output()
	require.NoError(t, err)
	linked := strings.Fields(string(out))
	require.Contains(t, linked, "metasim/federates/catalog")
	for _, p := range linked {
		if p == "metasim/federates/catalog" {
			continue
		}
		for _, room := range []string{
			"metasim/federates", "metasim/client", "metasim/server", "metasim/wire", "metasim/lcm/bus", "metasim/lcm/mirror",
			"github.com/quic-go", "google.golang.org/protobuf", "github.com/spf13/viper", "github.com/go-viper/mapstructure", "net/http",
		} {
			require.False(t, p == room || strings.HasPrefix(p, room+"/"),
				"package scenarios links %s; what a scenario is checked against belongs in federates/catalog, as data", p)
		}
	}
}
