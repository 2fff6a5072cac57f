// The page shows the maps that the worlds of a run publish. On this host the token is what follows #token= in the address, as on the page of the run.

const $ = id => document.getElementById(id);
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname + location.search);
}
const token = given || sessionStorage.getItem("token");
const headers = token ? {Authorization: "Bearer " + token} : {};
let over = false;

function notice(text) {
  $("notice").textContent = text || "";
  $("notice").hidden = !text;
}

function state(text, kind) {
  $("state").textContent = text;
  $("state").dataset.state = kind;
}

// show draws all worlds. The drawings come from the run itself, which has written the names in them as text.
function show(maps) {
  const places = [...$("worlds").children];
  maps.worlds.forEach((w, i) => {
    const place = places[i] || $("worlds").appendChild(document.createElement("div"));
    place.className = "world";
    place.innerHTML = w.svg;
  });
  over = maps.over;
  notice(maps.worlds.map(w => w.error).filter(Boolean).join(" "));
  if (over) state("over", "");
  else state(maps.worlds.length ? "live" : "waiting", maps.worlds.length ? "live" : "");
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
  while (!over) {
    try {
      const response = await fetch("events", {headers});
      if (!response.ok) {
        state("refused", "lost");
        notice((await response.json()).error);
        return;
      }
      for await (const maps of events(response)) show(maps);
    } catch {
      // the connection broke
    }
    if (over) return;
    state("lost", "lost");
    await new Promise(done => setTimeout(done, 1000));
  }
}
watch();
