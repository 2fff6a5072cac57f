// The pointer and the keyboard on the timeline.
const pointers = new Map(); // the pointers that are down, by id
let drag = null; // the view when a pointer came down

const place = (event) => {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};

// find returns the piece at a place, or null.
function find({ x, y }) {
  const row = view.shown[Math.floor((y - top0) / laneHeight)];
  if (row === undefined || y < top0) return null;
  if (x < gutter() || row.lanes.length > 1) return { row };
  const i = row.lanes[0];
  const lane = lanes[i], time = toTime(x), near = (view.high - view.low) / plotWidth() * 2;
  const k = Math.min(firstAfter(begins(lane), time + near), lane.begin.length) - 1;
  return k >= 0 && ends(lane)[k] >= time - near ? { row, lane: i, piece: k, time } : { row };
}

// greyText writes how long a client neither computed nor waited, and the parts of it that are known.
function greyText(s) {
  const parts = [...(s.noCore > 0 ? ['without a core ' + span(s.noCore)] : []), ...(s.dispatcher > 0 ? ['dispatcher ' + span(s.dispatcher)] : [])];
  return span(s.other) + (parts.length ? ' (' + parts.join(', ') + ')' : '');
}

// tell describes a piece below the timeline.
function tell(over) {
  const box = $('#detail');
  if (view.range) {
    tellRange(box);
    return;
  }
  if (!over) {
    box.replaceChildren(el('span', '', 'Point at a bar to see which client was waited for. Drag to select a time and see its sums. W and S zoom, A and D move; ' +
      'so do Ctrl and the wheel, two fingers, and the bar below the rows.' + (startEnd > 0.25 * data.wall_ns ? ' The view begins after all clients had initialized; All shows the rest.' : '')));
    return;
  }
  if (over.piece === undefined) {
    tellRow(box, over.row);
    return;
  }
  const lane = lanes[over.lane], k = over.piece;
  const single = lane.grants[k] === 1, start = lane.grants[k] === 0;
  box.replaceChildren(el('b', '', nameOf(over.lane)), start ? ' initialized' : single ? ' one grant' : ' ' + plural(lane.grants[k], 'grant'),
    ' from ' + span(lane.begin[k]) + ', at ' + span(lane.from[k]) + ' of simulated time: computed ' + span(lane.work[k]) + ', waited ' +
    span(lane.wait[k]) + ', neither ' + greyText(greys(lane, k)) + '.',
    lane.critical[k] ? ' Of its work, ' + span(lane.critical[k]) + ' lies on the critical path.' : '',
    single && lane.wait[k] > 0 && lane.cause[k] !== over.lane ? ' A report of ' + nameOf(lane.cause[k]) + ' let it go on.' : '');
  for (const hold of lane.holds[k]) {
    const path = pathText(hold.path);
    box.append(el('div', '', 'waited ' + span(hold.length) + ' for ', el('b', '', nameOf(hold.root)), path ? ': ' + path : ''));
  }
}

// sumsText writes what was done in a time.
const sumsText = (s) => 'computed ' + span(s.work) + ', waited ' + span(s.wait) + ', neither ' + greyText(s) + '; ' + span(s.critical) + ' on the critical path';

// tellRow describes the part of a row that is shown.
function tellRow(box, row) {
  const sums = add(row.lanes.map((i) => within(lanes[i], view.low, view.high)));
  box.replaceChildren(el('b', '', row.name), ' in the part that is shown: ' + sumsText(sums) + '.', row.stem === undefined ? '' : ' Click on the name for a row for each client.');
}

// tellRange sums up what is selected: all rows, and those with the most critical work.
function tellRange(box) {
  const low = Math.min(...view.range), high = Math.max(...view.range);
  const zoomIn = el('button', '', 'Zoom there'), clear = el('button', '', 'Clear');
  zoomIn.addEventListener('click', zoomToRange);
  clear.addEventListener('click', () => select(null));
  const rows = view.shown.map((r) => ({ name: r.name, sums: add(r.lanes.map((i) => within(lanes[i], low, high))) }));
  rows.sort((x, y) => y.sums.critical - x.sums.critical || y.sums.work - x.sums.work);
  box.replaceChildren(el('b', '', span(high - low)), ' of ' + (view.sim ? 'simulated time' : 'wall clock') + ' from ' + span(low) + ' to ' + span(high) + ', all rows: ' +
    (rows.length ? sumsText(add(rows.map((r) => r.sums))) : 'nothing') + '. ', zoomIn, ' ', clear);
  for (const r of rows.slice(0, 8)) box.append(el('div', '', el('b', '', r.name), ' ' + sumsText(r.sums)));
}

function select(range) {
  view.range = range;
  tell(view.over);
  redraw();
}

function zoomToRange() {
  if (!view.range) return;
  const [low, high] = [Math.min(...view.range), Math.max(...view.range)];
  select(null);
  look(low, high);
}

// same marks a client wherever it is on the page.
function same(name) {
  if (view.same === name) return;
  view.same = name;
  for (const e of document.querySelectorAll('[data-name]')) e.classList.toggle('same', name !== '' && e.dataset.name === name);
  redraw();
}
for (const kind of ['pointerover', 'focusin']) {
  document.addEventListener(kind, (event) => {
    const e = event.target.closest ? event.target.closest('[data-name]') : null;
    if (e) same(e.dataset.name);
    else if (event.target !== canvas) same('');
  });
}

function point(over) {
  view.over = over && over.piece !== undefined ? over : null;
  same(over && over.row.lanes.length === 1 ? over.row.name : '');
  tell(over);
  redraw();
}

// grip stores the view and the pointers. Movements are measured from here.
function grip() {
  const xs = [...pointers.values()].map((p) => p.x);
  drag = xs.length ? { low: view.low, high: view.high, xs, scroll: false, moved: false, selects: false } : null;
}

canvas.addEventListener('pointerdown', (event) => {
  const p = place(event);
  pointers.set(event.pointerId, p);
  canvas.setPointerCapture(event.pointerId);
  grip();
  drag.scroll = p.y > top0 + view.shown.length * laneHeight;
  drag.selects = event.pointerType === 'mouse' && !drag.scroll && !event.shiftKey && p.x >= gutter();
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
  if (xs.length === 1 && drag.selects) {
    if (drag.moved) select([drag.xs[0], xs[0]].map((x) => Math.max(0, Math.min(extent(), toTime(x)))));
    return;
  }
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
    if (kind === 'pointerup' && drag && !drag.moved) {
      const over = find(place(event));
      view.range = null;
      if (over && over.row.stem !== undefined && place(event).x < gutter()) {
        view.open.add(over.row.stem);
        choose();
      }
      point(over);
    }
    pointers.delete(event.pointerId);
    grip();
  });
}
canvas.addEventListener('pointerleave', () => { if (!pointers.size) { view.over = null; same(''); redraw(); } });
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
    a: () => look(view.low - by, view.high - by), d: () => look(view.low + by, view.high + by), w: () => zoom(0.6), s: () => zoom(1 / 0.6),
    Enter: zoomToRange, Escape: () => select(null), '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6), 0: () => look(0, extent()),
  }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
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
toggle('#culprits', 'culprits');
$('#group').addEventListener('click', () => {
  view.group = !view.group || view.open.size > 0;
  view.open.clear();
  $('#group').setAttribute('aria-pressed', String(view.group));
  choose();
});
$('#axis-wall').addEventListener('click', () => setAxis(false));
$('#axis-sim').addEventListener('click', () => setAxis(true));
$('#zoom-in').addEventListener('click', () => zoom(0.5));
$('#zoom-out').addEventListener('click', () => zoom(2));
$('#zoom-all').addEventListener('click', () => look(0, extent()));
$('#lanes-button').addEventListener('click', () => { view.all = !view.all; choose(); });
$('#filter').addEventListener('input', (event) => { view.filter = event.target.value; choose(); });
window.addEventListener('resize', resize);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
