// The page shows the frames of a cluster: the parts of all nodes change at once, so that what is torn here was torn there.

import {$, headers, notice, state, watch} from "./stream.js";

const slow = "200ms";
const nodes = new Map(); // by name: the elements of a node, its load, and whether it was told to fail
let latest = null;
const times = []; // of the last frames: when they came, and how many there had been

let said = Promise.resolve(); // what was clicked is said in its order: a load that is taken away again would stay otherwise

function post(path, body) {
  said = said.then(() => send(path, body));
}

async function send(path, body) {
  try {
    const response = await fetch(path, {method: "POST", headers, body: JSON.stringify(body)});
    if (response.ok) return notice("");
    const answer = await response.json();
    notice(response.status === 401 ? "To change how the cluster goes on, open the whole address that metasim printed, with #token= and what follows." : answer.error);
  } catch {
    notice("The run does not answer.");
  }
}

function element(kind, parent, text, className) {
  const e = document.createElement(kind);
  if (text) e.textContent = text;
  if (className) e.className = className;
  parent.append(e);
  return e;
}

// node returns what is shown of a node, and makes it at first.
function node(name) {
  if (nodes.has(name)) return nodes.get(name);
  const card = element("div", $("nodes"), "", "node");
  card.dataset.node = name;
  const n = {card, load: false, canvas: element("canvas", $("wall")), failed: false};
  element("b", card, name);
  n.role = element("span", card, "", "role");
  const row = element("div", card);
  n.slow = element("button", row, "Overload");
  n.slow.setAttribute("aria-pressed", "false");
  n.fail = element("button", row, "Fail");
  n.slow.addEventListener("click", () => {
    n.load = !n.load;
    n.slow.setAttribute("aria-pressed", String(n.load));
    post("command", {node: name, load: n.load ? slow : "0s"});
  });
  n.fail.addEventListener("click", () => {
    n.fail.disabled = true;
    post("command", {node: name, fail: true});
  });
  nodes.set(name, n);
  return n;
}

const colorOf = hash => hash ? `hsl(${parseInt(hash.slice(0, 4), 16) % 360} 75% 55%)` : "transparent";

function bytes(base64) {
  const text = atob(base64);
  return Uint8Array.from(text, c => c.charCodeAt(0));
}

// draw shows a frame: first all its pictures are decoded, and then all parts are drawn.
async function draw(frame) {
  const parts = frame.parts || [];
  const pictures = await Promise.all(parts.map(p => p.pictures && p.pictures[0] ? createImageBitmap(new Blob([bytes(p.pictures[0])], {type: "image/png"})) : null));
  const width = Math.max(...parts.map(p => p.clip[2])), height = Math.max(...parts.map(p => p.clip[3]));
  $("wall").style.aspectRatio = `${width} / ${height}`;
  $("wall").dataset.width = width;
  $("wall").dataset.height = height;
  parts.forEach((p, i) => {
    const n = node(p.node), [left, top, right, bottom] = p.clip, c = n.canvas;
    n.failed = !p.state;
    n.card.classList.toggle("failed", n.failed);
    n.role.textContent = n.failed ? "has failed" : `${!frame.sync ? "computes for itself" : p.node === frame.controller ? "controller" : "follows"}, state ${p.state}`;
    n.card.style.setProperty("--state", colorOf(p.state));
    c.style.setProperty("--state", colorOf(p.state));
    Object.assign(c.style, {left: 100 * left / width + "%", top: 100 * top / height + "%", width: 100 * (right - left) / width + "%", height: 100 * (bottom - top) / height + "%"});
    if (c.width !== right - left || c.height !== bottom - top) Object.assign(c, {width: right - left, height: bottom - top});
    if (pictures[i]) c.getContext("2d").drawImage(pictures[i], 0, 0);
    else c.getContext("2d").clearRect(0, 0, c.width, c.height);
  });
}

async function show(frame) {
  if (frame.parts) await draw(frame);
  latest = frame;
  times.push([performance.now(), frame.frames]);
  while (times.length > 2 && times.at(-1)[0] - times[0][0] > 2000) times.shift();
  const passed = times.at(-1)[0] - times[0][0];
  $("frame").textContent = frame.frame;
  $("tracked").textContent = frame.tracked_s.toFixed(3) + " s";
  $("rate").textContent = passed > 300 ? (1000 * (times.at(-1)[1] - times[0][1]) / passed).toFixed(0) : "–";
  $("torn").textContent = frame.torn_frames;
  $("touched").textContent = frame.inputs ? `${frame.inputs} (frame ${frame.input_at})` : "0";
  if (frame.over) state("over", "");
  else if (!frame.parts) state("waiting", "");
  else state(frame.torn ? "torn" : "whole", frame.torn ? "torn" : "whole");
  const alive = [...nodes.values()].filter(n => !n.failed);
  for (const n of nodes.values()) {
    n.slow.disabled = n.failed || frame.over;
    n.fail.disabled = n.failed || frame.over || alive.length < 2;
  }
  $("sync").disabled = frame.over || !frame.parts;
  $("sync").textContent = frame.sync ? "Synchronisation is on" : "Synchronisation is off";
  $("sync").setAttribute("aria-pressed", String(frame.sync));
  $("quit").hidden = !frame.quits;
  $("quit").disabled = frame.over;
}

$("sync").addEventListener("click", () => post("command", {sync: !latest.sync}));
$("quit").addEventListener("click", () => post("command", {quit: true}));
$("wall").addEventListener("click", e => {
  const box = $("wall").getBoundingClientRect();
  const at = (offset, size, pixels) => Math.max(0, Math.floor(offset / size * Number(pixels)));
  if (latest && latest.parts) post("touch", {x: at(e.clientX - box.left, box.width, $("wall").dataset.width), y: at(e.clientY - box.top, box.height, $("wall").dataset.height)});
});

watch(show);
