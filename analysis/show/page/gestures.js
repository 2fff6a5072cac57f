// The pointer and the keyboard on the timeline.
const pointers = new Map(); // the pointers that are down, by id
let drag = null; // the view when a pointer came down

const place = (event) => {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};

// find returns the piece at a place, or null.
function find({ x, y }) {
  const row = Math.floor((y - top0) / laneHeight), i = view.shown[row];
  if (i === undefined || y < top0 || x < gutter()) return null;
  const lane = lanes[i], time = toTime(x), near = (view.high - view.low) / plotWidth() * 2;
  const k = Math.min(firstAfter(begins(lane), time + near), lane.begin.length) - 1;
  return k >= 0 && ends(lane)[k] >= time - near ? { lane: i, piece: k, time } : null;
}

// tell describes a piece below the timeline.
function tell(over) {
  const box = $('#detail');
  if (!over) {
    box.replaceChildren(el('span', '', 'Point at a bar to see which client was waited for. Drag to move, pinch or use Ctrl and the wheel to zoom.'));
    return;
  }
  const lane = lanes[over.lane], k = over.piece;
  const single = lane.grants[k] === 1, start = lane.grants[k] === 0;
  const total = lane.end[k] - lane.begin[k];
  box.replaceChildren(el('b', '', nameOf(over.lane)), start ? ' initialized' : single ? ' one grant' : ' ' + plural(lane.grants[k], 'grant'),
    ' from ' + span(lane.begin[k]) + ', at ' + span(lane.from[k]) + ' of simulated time: computed ' + span(lane.work[k]) + ', waited ' +
    span(lane.wait[k]) + ', neither ' + span(Math.max(0, total - lane.work[k] - lane.wait[k])) + '.',
    lane.critical[k] ? ' Of its work, ' + span(lane.critical[k]) + ' lies on the critical path.' : '',
    single && lane.wait[k] > 0 && lane.cause[k] !== over.lane ? ' A report of ' + nameOf(lane.cause[k]) + ' let it go on.' : '');
  for (const hold of lane.holds[k]) {
    const path = pathText(hold.path);
    box.append(el('div', '', 'waited ' + span(hold.length) + ' for ', el('b', '', nameOf(hold.root)), path ? ': ' + path : ''));
  }
}

function point(over) {
  view.over = over;
  tell(over);
  redraw();
}

// grip stores the view and the pointers. Movements are measured from here.
function grip() {
  const xs = [...pointers.values()].map((p) => p.x);
  drag = xs.length ? { low: view.low, high: view.high, xs, scroll: false, moved: false } : null;
}

canvas.addEventListener('pointerdown', (event) => {
  const p = place(event);
  pointers.set(event.pointerId, p);
  canvas.setPointerCapture(event.pointerId);
  grip();
  drag.scroll = p.y > top0 + view.shown.length * laneHeight;
  if (drag.scroll) drag.moved = true;
});

canvas.addEventListener('pointermove', (event) => {
  const p = place(event);
  if (!pointers.has(event.pointerId)) {
    point(find(p));
    return;
  }
  pointers.set(event.pointerId, p);
  const xs = [...pointers.values()].map((q) => q.x), width = drag.high - drag.low;
  if (Math.abs(xs[0] - drag.xs[0]) > 3) drag.moved = true;
  if (xs.length === 1) {
    const perPixel = drag.scroll ? -extent() / plotWidth() : width / plotWidth();
    const by = (drag.xs[0] - xs[0]) * perPixel;
    look(drag.low + by, drag.high + by);
    return;
  }
  // Two fingers: the times under them stay under them.
  drag.moved = true;
  const at = (x) => drag.low + (x - gutter()) / plotWidth() * width;
  const scale = (at(drag.xs[1]) - at(drag.xs[0])) / ((xs[1] - xs[0]) || 1);
  if (scale > 0) {
    const low = at(drag.xs[0]) - (xs[0] - gutter()) * scale;
    look(low, low + scale * plotWidth());
  }
});

for (const kind of ['pointerup', 'pointercancel']) {
  canvas.addEventListener(kind, (event) => {
    if (kind === 'pointerup' && drag && !drag.moved) point(find(place(event)));
    pointers.delete(event.pointerId);
    grip();
  });
}
canvas.addEventListener('pointerleave', () => { if (!pointers.size && view.over) { view.over = null; redraw(); } });
canvas.addEventListener('dblclick', (event) => zoom(0.4, toTime(place(event).x)));
canvas.addEventListener('wheel', (event) => {
  const width = view.high - view.low;
  if (event.ctrlKey || event.metaKey) zoom(Math.exp(event.deltaY / 300), toTime(place(event).x));
  else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) look(view.low + event.deltaX / plotWidth() * width, view.high + event.deltaX / plotWidth() * width);
  else return; // the page scrolls
  event.preventDefault();
}, { passive: false });
canvas.addEventListener('keydown', (event) => {
  const by = (view.high - view.low) / 8;
  const does = {
    ArrowLeft: () => look(view.low - by, view.high - by), ArrowRight: () => look(view.low + by, view.high + by),
    '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6), 0: () => look(0, extent()),
  }[event.key];
  if (does && !event.ctrlKey && !event.metaKey) {
    does();
    event.preventDefault();
  }
});

const toggle = (id, name) => $(id).addEventListener('click', () => {
  view[name] = !view[name];
  $(id).setAttribute('aria-pressed', String(view[name]));
  legend();
  redraw();
});
toggle('#critical', 'critical');
toggle('#arrows', 'arrows');
$('#axis-wall').addEventListener('click', () => setAxis(false));
$('#axis-sim').addEventListener('click', () => setAxis(true));
$('#zoom-in').addEventListener('click', () => zoom(0.5));
$('#zoom-out').addEventListener('click', () => zoom(2));
$('#zoom-all').addEventListener('click', () => look(0, extent()));
$('#lanes-button').addEventListener('click', () => { view.all = !view.all; choose(); });
$('#filter').addEventListener('input', (event) => { view.filter = event.target.value; choose(); });
window.addEventListener('resize', resize);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
