package export

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dumpMCAP prints an MCAP file with the reader of its inventors, in the order of log_time.
const dumpMCAP = `
const { McapIndexedReader } = require("@mcap/core");
const { loadDecompressHandlers } = require("@mcap/support");
const file = require("node:fs").readFileSync(process.argv[2]);
const hex = (data) => Buffer.from(data).toString("hex");
async function main() {
	const reader = await McapIndexedReader.Initialize({
		readable: { size: async () => BigInt(file.length), read: async (at, n) => file.subarray(Number(at), Number(at + n)) },
		decompressHandlers: await loadDecompressHandlers(),
	});
	const lines = [` + "`${reader.header.library} ${reader.statistics.messageCount} ${reader.channelsById.size}`" + `];
	for await (const m of reader.readMessages()) {
		const c = reader.channelsById.get(m.channelId), s = reader.schemasById.get(c.schemaId);
		lines.push(` + "`${c.topic} ${c.messageEncoding} ${s?.name} ${m.sequence} ${m.logTime} ${m.publishTime} ${hex(m.data)}`" + `);
	}
	console.log(lines.join("\n"));
}
main();
`

// The npm packages read what the library for Go has written: the same messages in the same order.
func TestMCAPInJavaScript(t *testing.T) {
	tool(t, "node")
	if err := exec.CommandContext(t.Context(), "node", "-e", `require("@mcap/core"); require("@mcap/support")`).Run(); err != nil {
		t.Skip("SKIPPED LOUDLY: @mcap/core and @mcap/support are missing, so only the library's own reader has read our MCAP files; " +
			"npm install @mcap/core@2.2.2 @mcap/support@1.1.0, and set NODE_PATH to the node_modules")
	}
	ours := written(t, carryOut(t, parse(t, mixed), "mem", 2), "mcap")
	items, info := contents(t, ours)
	var want strings.Builder
	fmt.Fprintf(&want, "metasim %d %d\n", len(items), len(info.Channels))
	for _, it := range items {
		schema := "undefined"
		if it.Schema != nil {
			schema = it.Schema.Name
		}
		fmt.Fprintf(&want, "%s %s %s %d %d %d %s\n", it.Channel.Topic, it.Channel.MessageEncoding, schema, it.Message.Sequence,
			it.Message.LogTime, it.Message.PublishTime, hex.EncodeToString(it.Message.Data))
	}
	dir := t.TempDir()
	file, script := filepath.Join(dir, "ours.mcap"), filepath.Join(dir, "dump.cjs")
	require.NoError(t, os.WriteFile(file, ours, 0o644))
	require.NoError(t, os.WriteFile(script, []byte(dumpMCAP), 0o644))
	require.Equal(t, want.String(), command(t, "node", script, file))
}
