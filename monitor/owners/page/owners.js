// The page shows each entity in the color of its owner.

import {$, state, watch} from "./stream.js";

const colors = ["#4c8dff", "#f2994a", "#2fb574", "#d45bd0", "#e5484d", "#9b8afb", "#12a5b5", "#b59a12"];
const cards = new Map(); // by name of a server

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
  $("time").textContent = world.ns < 1e17 ? (world.ns / 1e9).toFixed(1) + " s" : new Date(world.ns / 1e6).toLocaleTimeString("en-GB");
  $("entities").textContent = entities;
  $("moving").textContent = moving;
  $("guests").textContent = guests;
  $("moved").textContent = world.moved;
}

if (location.pathname === "/") document.querySelector("header a").hidden = true; // there is no run

watch(world => {
  draw(world);
  state(world.over ? "over" : "live", world.over ? "" : "live");
});
