// The page receives views of the run and sends it commands. On this host the token is what follows #token= in the address: browsers do not send
// that part of an address. It is taken out of the address at once, as browsers keep addresses, and kept for as long as the tab is open. From outside
// the browser has a cookie, and the page says so (data-known).

import {draw, duration, notice, state} from "./draw.js";

const $ = id => document.getElementById(id);
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname + location.search);
}
const token = given || sessionStorage.getItem("token");
const known = token || "known" in document.documentElement.dataset;
const headers = token ? {Authorization: "Bearer " + token} : {};
let latest = null;
let lost = false;

const over = () => latest && latest.state === "over";

function enable() {
  const may = known && !lost && latest && !over();
  for (const e of document.querySelectorAll("nav button, nav input")) e.disabled = !may;
  $("no-token").hidden = Boolean(known);
  const paused = latest && (latest.state === "paused" || latest.state === "pausing");
  $("pause").textContent = paused ? "Resume" : "Pause";
  $("pause").dataset.command = paused ? "resume" : "pause";
}

function show(view) {
  if (lost) notice("");
  lost = false;
  latest = view;
  draw(view);
  enable();
  if (view.error) notice(view.error, true);
  else if (view.state === "over") notice(`The run is over, after ${duration(view.wall_s)} of real time.`);
}

// vanish says that the run does not answer any more.
function vanish() {
  if (lost) return;
  lost = true;
  state("lost", "lost");
  notice(`The run has not answered since ${new Date().toLocaleTimeString()}: it is over, or was killed. This page goes on asking.`, true);
  enable();
}

// ask has the run answer, and returns what it says; a refusal is told.
async function ask(path, options) {
  try {
    const response = await fetch(path, {headers, ...options});
    const answer = await response.json();
    if (!over()) notice(answer.error, true); // the notice of the end stays
    return answer;
  } catch {
    if (!over()) vanish();
    return {};
  }
}

const command = (name, time) => ask(`/ctl/${name}` + (time === undefined ? "" : "?t=" + encodeURIComponent(time)), {method: "POST"});

let asker = null; // the button that was clicked

async function why(button) {
  const client = button.dataset.client;
  asker = button;
  const answer = await ask("/why?client=" + encodeURIComponent(client));
  if (!answer.chain) return;
  $("asked-client").textContent = client;
  $("answer").replaceChildren(...answer.chain.map(sentence => {
    const li = document.createElement("li");
    li.textContent = sentence;
    return li;
  }));
  $("asked").hidden = false;
  $("asked").scrollIntoView({block: "nearest"});
  $("close").focus({preventScroll: true});
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

// order is how the rows are sorted; without a key, who holds up others comes first.
const order = {key: "", back: false};

function sortBy(key) {
  if (order.key !== key) Object.assign(order, {key, back: false});
  else if (!order.back) order.back = true;
  else Object.assign(order, {key: "", back: false});
  for (const b of document.querySelectorAll("th button")) {
    const th = b.parentElement;
    if (b.dataset.sort !== order.key) th.removeAttribute("aria-sort");
    else th.setAttribute("aria-sort", order.back ? "descending" : "ascending");
  }
  watch();
}

// select moves the selection by some rows. The row that has the focus is selected.
function select(by) {
  const all = [...document.querySelectorAll("#rows .ask")];
  if (!all.length) return;
  const at = all.indexOf(document.activeElement);
  all[at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + by))].focus();
}

const keys = {
  "?": () => $("help").showModal(),
  "/": () => $("filter").focus(),
  a: () => $("group").click(),
  p: () => $("pause").click(),
  s: () => $("step").click(),
  u: () => $("until-time").focus(),
  j: () => select(1), ArrowDown: () => select(1),
  k: () => select(-1), ArrowUp: () => select(-1),
};

document.addEventListener("keydown", e => {
  if (e.key === "Escape" && !document.querySelector("dialog[open]") && document.activeElement) document.activeElement.blur();
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input:not([type=checkbox]), dialog") || !keys[e.key]) return;
  if (e.key.startsWith("Arrow") && !e.target.closest("#rows")) return; // elsewhere arrows scroll
  e.preventDefault();
  keys[e.key]();
});

const pause = ms => new Promise(done => setTimeout(done, ms));
let watching = null;

// watch shows views until the run is over. Where the connection breaks it tries again.
async function watch() {
  if (over()) return; // the run does not answer any more
  if (watching) watching.abort();
  const mine = watching = new AbortController();
  while (mine === watching) {
    try {
      const wanted = new URLSearchParams({filter: $("filter").value, sort: order.key, back: order.back, group: $("group").checked});
      const response = await fetch("/events?" + wanted, {headers, signal: mine.signal});
      if (!response.ok) {
        state("refused", "lost");
        notice((await response.json()).error, true);
        return;
      }
      for await (const view of events(response)) show(view);
    } catch {
      // the connection broke, or another watch has begun
    }
    if (mine !== watching || over()) return;
    vanish();
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
$("rows").addEventListener("click", e => {
  const asked = e.target.closest(".ask");
  if (asked && asked.dataset.client) why(asked);
});
document.querySelector("thead").addEventListener("click", e => {
  const title = e.target.closest("button");
  if (title) sortBy(title.dataset.sort);
});
$("group").addEventListener("change", watch);
$("help-button").addEventListener("click", () => $("help").showModal());
$("close").addEventListener("click", () => {
  $("asked").hidden = true;
  if (asker && asker.isConnected) asker.focus({preventScroll: true});
});
let typing = 0;
$("filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(watch, 200);
});
enable();
watch();
