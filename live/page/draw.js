// What the page shows: a view in, elements out. Nothing here asks for anything.

const $ = id => document.getElementById(id);

const short = new Intl.NumberFormat("en", {notation: "compact", maximumSignificantDigits: 3});
export const number = x => x === 0 ? "0" : x < 0.001 ? x.toExponential(1) : short.format(x);

export function duration(s) {
  if (s < 0.1) return (1e3 * s).toFixed(1) + " ms";
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 600) return s.toFixed(0) + " s";
  return (s / 60).toFixed(0) + " min";
}

// seconds shows simulated time to the millisecond, so that it does not jump about; what is exact is in the title.
const seconds = at => at.s > 9e9 ? "for ever" : at.s.toFixed(3) + " s";

function text(id, value) {
  const e = $(id);
  if (e.textContent !== value) e.textContent = value;
}

const history = {factor: [], messages: [], grants: []};
const remembered = 120;

function spark(name, value) {
  const h = history[name];
  h.push(value);
  if (h.length > remembered) h.shift();
  const svg = $("spark-" + name);
  if (h.length < 2) return;
  const top = Math.max(...h) || 1;
  const points = h.map((v, i) => `${(120 * i / (h.length - 1)).toFixed(1)},${(26 - 24 * v / top).toFixed(1)}`);
  svg.innerHTML = `<path class="area" d="M0,28 L${points.join(" L")} L120,28 Z"/><path d="M${points.join(" L")}"/>`;
}

function progress(view) {
  const bar = $("progress");
  bar.classList.toggle("endless", !view.end);
  if (!view.end) return;
  const share = Math.min(1, view.now.s / view.end.s);
  bar.firstElementChild.style.width = (100 * share).toFixed(1) + "%";
  bar.setAttribute("aria-valuenow", (100 * share).toFixed(0));
}

const order = ["computing", "initializing", "waiting", "absent", "left", "lost"];

function mix(view) {
  const there = order.filter(s => view.states[s]);
  $("mix").replaceChildren(...there.map(s => {
    const i = document.createElement("i");
    i.dataset.does = s;
    i.style.flexGrow = view.states[s];
    i.style.flexBasis = 0;
    return i;
  }));
  text("mix-text", there.map(s => `${view.states[s]} ${s}`).join(", "));
}

function cell(name, content, label) {
  const td = document.createElement("td");
  td.className = name;
  td.append(content);
  if (label) td.dataset.label = label;
  return td;
}

function share(value) {
  const e = document.createElement("div");
  e.className = "share";
  e.innerHTML = `<div class="bar"><i></i></div><span></span>`;
  e.querySelector("i").style.width = (100 * value).toFixed(0) + "%";
  e.querySelector("span").textContent = (100 * value).toFixed(0) + " %";
  return e;
}

function waits(c, view) {
  if (!c.holder) return c.state === "waiting" && !view.next ? "nobody" : "";
  return c.root === c.holder ? c.holder : `${c.holder} … ${c.root}`;
}

function row(c, view) {
  const tr = document.createElement("tr");
  tr.classList.toggle("blamed", c.name === view.slowest);
  const name = cell("name", c.name);
  name.title = [c.peer, c.pid && "process " + c.pid].filter(Boolean).join(", ");
  const does = cell("", c.state);
  does.classList.add("does");
  does.dataset.does = c.state;
  if (c.state !== "left" && c.since_s >= 1) {
    const since = document.createElement("span");
    since.className = "soft";
    since.textContent = " " + duration(c.since_s);
    does.append(since);
  }
  const at = cell("n", seconds(c.at), "at");
  at.title = c.at.text;
  const safe = cell("n opt", seconds(c.safe));
  safe.title = c.safe.text;
  tr.append(name, does, at, safe, cell("n opt", number(c.queued)), cell("n opt", number(c.messages_per_s)), cell("blocked", share(c.blocked), "blocked"),
    cell("n holds", c.blame < 0.05 ? "" : c.blame.toFixed(1), c.blame < 0.05 ? "" : "holds up"), cell("waits", waits(c, view), c.holder ? "waits for" : ""));
  return tr;
}

// state is what is written in the pill, and its colour.
export function state(word, colour) {
  text("state", word);
  $("state").dataset.state = colour || word;
}

export function notice(message, bad) {
  const e = $("notice");
  e.hidden = !message;
  e.classList.toggle("bad", Boolean(bad));
  text("notice", message || "");
}

export function draw(view) {
  document.title = `${view.scenario} – metasim`;
  text("scenario", view.scenario);
  state(view.state === "over" && view.error ? "failed" : view.state);
  text("now", seconds(view.now));
  $("now").title = view.now.text;
  text("end", view.end ? "of " + seconds(view.end) : "");
  progress(view);
  text("factor", number(view.factor));
  text("messages", number(view.messages_per_s));
  text("grants", number(view.grants_per_s));
  spark("factor", view.factor);
  spark("messages", view.messages_per_s);
  spark("grants", view.grants_per_s);
  text("count", String(view.count));
  mix(view);
  $("why").hidden = view.state === "over";
  text("slowest", view.slowest || "nobody just now");
  $("chain").replaceChildren(...(view.chain || []).map(s => {
    const li = document.createElement("li");
    li.textContent = s;
    return li;
  }));
  $("rows").replaceChildren(...view.clients.map(c => row(c, view)));
  const hidden = view.matching - view.clients.length;
  text("more", hidden > 0 ? `and ${hidden} more: filter to see them` : view.matching === 0 ? "no client is like this" : "");
}
