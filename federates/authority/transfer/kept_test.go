package transfer

import (
	"encoding/json"

	"github.com/stretchr/testify/require"
)

// again makes a homeserver of what another one has kept, as text.
func (n *network) again(h *Homeserver) *Homeserver {
	fresh := NewHomeserver(h.cfg)
	for _, e := range n.entities {
		kept, known := h.Keep(e)
		require.True(n.t, known)
		text, err := json.Marshal(kept)
		require.NoError(n.t, err)
		var read Kept
		require.NoError(n.t, json.Unmarshal(text, &read))
		fresh.Restore(e, read)
	}
	return fresh
}
