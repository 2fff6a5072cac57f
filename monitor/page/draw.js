// Draws a view on the page. Nothing here asks the run.

const $ = id => document.getElementById(id);

// number writes three digits, so that its width stays about the same: 0.47, 48.0, 1.33k.
export function number(x) {
  if (x === 0) return "0";
  for (const unit of ["", "k", "M", "G"]) {
    if (x < 9.995) return x.toFixed(2) + unit;
    if (x < 99.95) return x.toFixed(1) + unit;
    if (x < 999.5) return x.toFixed(0) + unit;
    x /= 1000;
  }
  return x.toFixed(0) + "T";
}

export function duration(s) {
  if (s < 0.1) return (1e3 * s).toFixed(1) + " ms";
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 600) return s.toFixed(0) + " s";
  return (s / 60).toFixed(0) + " min";
}

// seconds writes simulated time to the millisecond, so that its width stays the same; the exact time is in the title.
const seconds = at => at.s > 9e9 ? "for ever" : at.s.toFixed(3) + " s";

const percent = share => (100 * share).toFixed(0) + " %";

// write changes only what is different: text may be selected, or pointed at.
function write(e, value, title) {
  if (e.textContent !== value) e.textContent = value;
  if (title !== undefined && e.title !== title) e.title = title;
}

const text = (id, value, title) => write($(id), value, title);

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
  svg.querySelector(".area").setAttribute("d", `M0,28 L${points.join(" L")} L120,28 Z`);
  svg.querySelector(".line").setAttribute("d", `M${points.join(" L")}`);
}

// past shows who held up the others before: a part for each time, as high as many waited, in the colours of those who were waited for.
const colours = 5;

function past(view) {
  const parts = view.history || [];
  $("past").hidden = parts.length < 2;
  if (parts.length < 2) return;
  const held = new Map();
  for (const p of parts) {
    for (const h of p.holders) held.set(h.name, (held.get(h.name) || 0) + h.blame * (p.to_s - p.from_s));
  }
  const names = [...held.keys()].sort((a, b) => held.get(b) - held.get(a)), waited = [...held.values()].reduce((a, b) => a + b, 0);
  const colour = name => { const i = names.indexOf(name); return i < colours ? String(i) : "rest"; };
  const total = parts[parts.length - 1].to_s - parts[0].from_s;
  const all = p => p.holders.reduce((sum, h) => sum + h.blame, 0), most = Math.max(...parts.map(all)) || 1;
  text("past-time", duration(total));
  $("past-strip").replaceChildren(...parts.map(p => {
    const part = document.createElement("div");
    part.style.flexGrow = p.to_s - p.from_s;
    part.title = `${duration(p.from_s)} to ${duration(p.to_s)}: ` + (p.holders.map(h => `${h.blame.toFixed(1)} waited for ${h.name}`).join(", ") || "nobody held up others");
    part.append(...(p.holders.length ? p.holders : [{name: "", blame: 0}]).map(h => {
      const i = document.createElement("i");
      i.style.height = h.name ? 100 * h.blame / most + "%" : "2px";
      i.dataset.colour = h.name ? colour(h.name) : "none";
      return i;
    }));
    return part;
  }));
  $("past-legend").replaceChildren(...names.slice(0, colours).map(name => {
    const s = document.createElement("span"), i = document.createElement("i");
    i.dataset.colour = colour(name);
    s.append(i, ` ${name} ${percent(held.get(name) / waited)}`);
    return s;
  }), names.length > colours ? `and ${names.length - colours} more` : names.length ? "" : "nobody");
}

const done = view => view.end ? Math.min(1, view.now.s / view.end.s) : 0;

function progress(view) {
  const bar = $("progress");
  bar.classList.toggle("endless", !view.end);
  if (!view.end) return;
  bar.firstElementChild.style.width = (100 * done(view)).toFixed(1) + "%";
  bar.setAttribute("aria-valuenow", (100 * done(view)).toFixed(0));
}

const order = ["computing", "initializing", "waiting", "absent", "nested", "left", "lost"];

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

// explain shows why a client waits for the slowest, or what else the run waits for. Its card does not shrink, so that what is below it
// stays where it is, until the width of the page changes.
let tall = 0, wide = 0;

function explain(view) {
  const card = $("why");
  card.hidden = view.state === "over";
  const told = view.chain || [];
  text("lead", view.slowest ? "Held up by:" : told.length ? "What the run waits for:" : "No client holds the others up");
  text("slowest", view.slowest || "");
  list("chain", told);
  if (wide !== innerWidth) {
    wide = innerWidth;
    tall = 0;
    card.style.minHeight = "";
  }
  if (card.offsetHeight > tall) {
    tall = Math.min(card.offsetHeight, 0.4 * innerHeight);
    card.style.minHeight = tall + "px";
  }
}

function waits(c) {
  if (c.halted === "credit") return "the outer run";
  if (c.halted) return c.halted === "paused" ? "the pause" : "real time";
  if (!c.holder) return "";
  const held = c.root === c.holder ? c.holder : `${c.holder} … ${c.root}`;
  return c.short ? "memory, " + held : held;
}

// Rows are kept by the name of their client.
const rows = new Map();

function row(c, view) {
  let tr = rows.get(c.name);
  if (!tr) {
    tr = $("row").content.firstElementChild.cloneNode(true);
    rows.set(c.name, tr);
  }
  const part = name => tr.querySelector("." + name);
  tr.classList.toggle("blamed", c.name === view.slowest);
  const home = [c.peer, c.pid && "process " + c.pid].filter(Boolean).join(", ");
  write(part("ask"), c.count ? `${c.name} × ${c.count}` : c.name, c.count ? c.mix : `why does ${c.name} not go on?` + (home && ` (${home})`));
  part("ask").dataset.client = c.count ? "" : c.name;
  part("does").dataset.does = c.state;
  write(part("word"), c.mix || c.state, c.mix || "");
  write(part("since"), !c.count && !["left", "nested"].includes(c.state) && c.since_s >= 1 ? "for " + duration(c.since_s) : "");
  write(part("at"), seconds(c.at), c.at.text);
  write(part("safe"), seconds(c.safe), c.safe.text);
  write(part("queue"), String(c.queued));
  write(part("rate"), number(c.messages_per_s));
  write(part("factor"), number(c.factor));
  part("bar").firstElementChild.style.width = (100 * c.blocked).toFixed(0) + "%";
  write(part("share"), percent(c.blocked));
  write(part("holds"), c.blame < 0.05 ? "" : c.blame.toFixed(1));
  write(part("held"), c.held_s < 0.05 ? "" : duration(c.held_s));
  const target = waits(c);
  write(part("waits"), target, target);
  return tr;
}

function table(view) {
  if ($("rows").querySelector(":active")) return; // a row that moves under a pressed button loses its click; the next view is near
  const body = $("rows"), shown = new Set(view.clients.map(c => c.name));
  for (const [name, tr] of rows) {
    if (shown.has(name)) continue;
    tr.remove();
    rows.delete(name);
  }
  const focused = document.activeElement;
  view.clients.forEach((c, i) => {
    const tr = row(c, view);
    if (body.children[i] !== tr) body.insertBefore(tr, body.children[i] || null);
  });
  if (focused !== document.activeElement && focused.isConnected) focused.focus({preventScroll: true}); // its row was moved
  const hidden = view.matching - view.clients.reduce((n, c) => n + (c.count || 1), 0);
  text("more", hidden > 0 ? `and ${hidden} more: filter to see them` : view.matching === 0 ? "no client matches" : "");
}

// state sets the text and the colour of the pill.
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

// list writes sentences into a list.
function list(id, sentences) {
  const items = $(id).children;
  sentences.forEach((sentence, i) => write(items[i] || $(id).appendChild(document.createElement("li")), sentence));
  while (items.length > sentences.length) items[items.length - 1].remove();
}

export function draw(view) {
  document.title = (view.end ? percent(done(view)) + " – " : "") + `${view.scenario} – metasim`;
  text("scenario", view.scenario);
  state(view.state === "over" && view.error ? "failed" : view.state);
  $("map").hidden = !(view.pages || []).includes("/map/");
  text("now", seconds(view.now), view.now.text);
  text("end", view.end ? "of " + seconds(view.end) : "");
  progress(view);
  text("elapsed", view.wall_s ? `${duration(view.wall_s)} so far` : "");
  text("eta", view.eta_s !== undefined ? `${duration(view.eta_s)} to go` : "");
  text("factor", number(view.factor));
  text("messages", number(view.messages_per_s));
  text("grants", number(view.grants_per_s));
  spark("factor", view.factor);
  spark("messages", view.messages_per_s);
  spark("grants", view.grants_per_s);
  text("count", String(view.count));
  mix(view);
  explain(view);
  past(view);
  $("warnings").hidden = !view.warnings;
  list("warned", view.warnings || []);
  table(view);
}
