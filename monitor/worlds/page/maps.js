// The page shows the maps that the worlds of a run publish.

import {$, notice, state, watch} from "./stream.js";

// show draws all worlds. The drawings come from the run itself, which has written the names in them as text.
function show(maps) {
  const places = [...$("worlds").children];
  maps.worlds.forEach((w, i) => {
    const place = places[i] || $("worlds").appendChild(document.createElement("div"));
    place.className = "world";
    place.innerHTML = w.svg;
  });
  notice(maps.worlds.map(w => w.error).filter(Boolean).join(" "));
  if (maps.over) state("over", "");
  else state(maps.worlds.length ? "live" : "waiting", maps.worlds.length ? "live" : "");
}

watch(show);
