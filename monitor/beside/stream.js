// What every page beside that of the run does: it shows the events that the run sends it, until the last. On this host the token is what follows #token= in the
// address, as on the page of the run.

export const $ = id => document.getElementById(id);

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname + location.search);
}
const token = given || sessionStorage.getItem("token");
export const headers = token ? {Authorization: "Bearer " + token} : {};

export function notice(text) {
  $("notice").textContent = text || "";
  $("notice").hidden = !text;
}

export function state(text, kind) {
  $("state").textContent = text;
  $("state").dataset.state = kind;
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

// watch shows each event, until one says that the run is over. A connection that breaks is made again.
export async function watch(show) {
  for (;;) {
    try {
      const response = await fetch("events", {headers});
      if (!response.ok) {
        state("refused", "lost");
        notice((await response.json()).error);
        return;
      }
      for await (const event of events(response)) {
        await show(event);
        if (event.over) return;
      }
    } catch {
      // the connection broke
    }
    state("lost", "lost");
    await new Promise(done => setTimeout(done, 1000));
  }
}
