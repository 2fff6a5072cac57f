// The page asks the run for views as they come, and sends it commands. The token is what follows #token= in the address:
// browsers send that to nobody.

import {draw, notice, state} from "./draw.js";

const $ = id => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const headers = token ? {Authorization: "Bearer " + token} : {};
let latest = null;

function enable() {
  const may = token && latest && latest.state !== "over";
  for (const e of document.querySelectorAll("nav button, nav input")) {
    e.disabled = !may;
    if (!token) e.title = "to command the run, open the whole address that metasim printed";
  }
  const paused = latest && (latest.state === "paused" || latest.state === "pausing");
  $("pause").textContent = paused ? "Resume" : "Pause";
  $("pause").dataset.command = paused ? "resume" : "pause";
}

function show(view) {
  latest = view;
  draw(view);
  enable();
  if (view.error) notice(view.error, true);
}

async function command(name, time) {
  const query = time === undefined ? "" : "?t=" + encodeURIComponent(time);
  try {
    const response = await fetch(`/ctl/${name}${query}`, {method: "POST", headers});
    const answer = await response.json();
    notice(answer.error, true);
  } catch {
    notice("The run does not answer.", true);
  }
}

// events reads server-sent events from a stream that carries our header, which an EventSource cannot.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    buffer += value;
    const parts = buffer.split("\n\n");
    buffer = parts.pop();
    for (const part of parts) {
      const line = part.split("\n").find(l => l.startsWith("data: "));
      if (line) yield JSON.parse(line.slice(6));
    }
  }
}

const pause = ms => new Promise(done => setTimeout(done, ms));
let watching = null;

// watch shows views until the run is over. Where the connection breaks it tries again.
async function watch() {
  if (latest && latest.state === "over") return; // nobody is there to ask
  if (watching) watching.abort();
  const mine = watching = new AbortController();
  while (mine === watching) {
    try {
      const response = await fetch("/events?filter=" + encodeURIComponent($("filter").value), {headers, signal: mine.signal});
      if (!response.ok) {
        state("refused", "lost");
        notice((await response.json()).error, true);
        return;
      }
      for await (const view of events(response)) show(view);
    } catch {
      // the connection broke, or another watch has begun
    }
    if (mine !== watching || latest && latest.state === "over") return;
    state("lost", "lost");
    await pause(1000);
  }
}

$("pause").addEventListener("click", () => command($("pause").dataset.command));
$("step").addEventListener("click", () => command("step"));
$("until").addEventListener("submit", e => {
  e.preventDefault();
  command("until", $("until-time").value);
});
$("quit").addEventListener("click", () => $("sure").showModal());
$("sure").addEventListener("close", () => {
  if ($("sure").returnValue === "quit") command("quit");
  $("sure").returnValue = "";
});
let typing = 0;
$("filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(watch, 200);
});
enable();
watch();
