// The page shows each entity in the color of its owner. On this host the token is what follows #token= in the address, as on the page of the run.

const $ = id => document.getElementById(id);
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname + location.search);
}
const token = given || sessionStorage.getItem("token");
const headers = token ? {Authorization: "Bearer " + token} : {};
const colors = ["#4c8dff", "#f2994a", "#2fb574", "#d45bd0", "#e5484d", "#9b8afb", "#12a5b5", "#b59a12"];
const cards = new Map(); // by name of a server
let latest = null;

function state(text, kind) {
  $("state").textContent = text;
  $("state").dataset.state = kind;
}

// color is that of a server: by its place among all names, so that it is the same after a reload.
const color = (world, name) => colors[Object.keys(world.servers).sort().indexOf(name) % colors.length];

function card(name) {
  if (cards.has(name)) return cards.get(name);
  const e = document.createElement("div");
  e.className = "server";
  e.dataset.server = name;
  const title = document.createElement("b");
  title.textContent = name;
  const c = {e, owns: document.createElement("span"), work: document.createElement("span")};
  e.append(title, c.owns, c.work);
  $("servers").append(e);
  cards.set(name, c);
  return c;
}

function draw(world) {
  const canvas = $("world"), g = canvas.getContext("2d"), soft = getComputedStyle(document.body).color;
  g.clearRect(0, 0, canvas.width, canvas.height);
  let entities = 0, moving = 0, guests = 0;
  for (const name of Object.keys(world.servers).sort()) {
    const s = world.servers[name], scale = canvas.width / s.side, c = color(world, name);
    const place = (x, y) => [x * scale, canvas.height - y * scale];
    const [lx, ly] = place(...s.look);
    g.strokeStyle = c;
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(lx - 12, ly); g.lineTo(lx + 12, ly); g.moveTo(lx, ly - 12); g.lineTo(lx, ly + 12);
    g.stroke();
    g.fillStyle = soft;
    g.font = "22px system-ui, sans-serif";
    g.fillText(name, lx + 16, ly - 8);
    for (const e of s.owns) {
      const [x, y] = place(e.x, e.y);
      entities++;
      g.fillStyle = c;
      g.beginPath();
      g.arc(x, y, 8, 0, 7);
      g.fill();
      if (!e.integrator) continue;
      moving++;
      if (e.integrator !== name) guests++;
      g.strokeStyle = color(world, e.integrator) || soft;
      g.lineWidth = 3;
      g.beginPath();
      g.arc(x, y, 13, 0, 7);
      g.stroke();
    }
    const shows = card(name);
    shows.e.style.setProperty("--color", c);
    shows.owns.textContent = `${s.leaves ? "has left, " : ""}owns ${s.owns.length}, knows ${s.copies} of others`;
    shows.work.textContent = `${s.work.toLocaleString("en")} steps in the last round`;
  }
  $("time").textContent = (world.ns / 1e9).toFixed(1) + " s";
  $("entities").textContent = entities;
  $("moving").textContent = moving;
  $("guests").textContent = guests;
  $("moved").textContent = world.moved;
}

function show(world) {
  latest = world;
  draw(world);
  state(world.over ? "over" : "live", world.over ? "" : "live");
}

// events reads server-sent events from a stream that carries our header, which an EventSource cannot.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    buffer += value;
    const all = buffer.split("\n\n");
    buffer = all.pop();
    const line = all.length && all.at(-1).split("\n").find(l => l.startsWith("data: ")); // older ones need not be shown
    if (line) yield JSON.parse(line.slice(6));
  }
}

async function watch() {
  while (!latest || !latest.over) {
    try {
      const response = await fetch("events", {headers});
      if (!response.ok) {
        state("refused", "lost");
        $("notice").textContent = (await response.json()).error;
        $("notice").hidden = false;
        return;
      }
      for await (const world of events(response)) show(world);
    } catch {
      // the connection broke
    }
    if (latest && latest.over) return;
    state("lost", "lost");
    await new Promise(done => setTimeout(done, 1000));
  }
}
watch();
