// The view of the timeline: which part of which axis is shown, and which lanes.
const canvas = $('#lanes');
const laneHeight = 26, barHeight = 18, profileHeight = 64, axisHeight = 24, scrollHeight = 14;
const top0 = profileHeight + axisHeight;
const fewLanes = 16;

const view = {
  sim: false, critical: true, arrows: false, all: false, filter: '',
  low: 0, high: Math.max(1, data.wall_ns),
  shown: [], // the indexes of the lanes that are drawn, from the top
  over: null, // what the pointer is over
};

const extent = () => view.sim ? Math.max(1, report.end_sim_ns) : Math.max(1, data.wall_ns);
const begins = (lane) => view.sim ? lane.from : lane.begin;
const ends = (lane) => view.sim ? lane.until : lane.end;
const gutter = () => Math.min(150, Math.max(64, canvas.clientWidth * 0.14));
const plotWidth = () => Math.max(1, canvas.clientWidth - gutter() - 8);
const toX = (time) => gutter() + (time - view.low) / (view.high - view.low) * plotWidth();
const toTime = (x) => view.low + (x - gutter()) / plotWidth() * (view.high - view.low);

// look shows the part from low to high, within the run.
function look(low, high) {
  const all = extent();
  const width = Math.min(all, Math.max(all / 1e6, 20, high - low));
  low = Math.max(0, Math.min(all - width, low));
  view.low = low;
  view.high = low + width;
  redraw();
}

// zoom makes the shown part longer by a factor. The time around stays where it is.
function zoom(factor, around = (view.low + view.high) / 2) {
  const width = Math.min(extent(), Math.max(extent() / 1e6, 20, (view.high - view.low) * factor));
  const share = (around - view.low) / (view.high - view.low);
  look(around - share * width, around + (1 - share) * width);
}

// choose selects the lanes that are drawn.
function choose() {
  const want = view.filter.toLowerCase();
  const match = lanes.map((_, i) => i).filter((i) => nameOf(i).toLowerCase().includes(want));
  view.shown = view.all ? match.slice(0, 500) : match.slice(0, fewLanes);
  const more = match.length - view.shown.length;
  $('#lanes-more').hidden = match.length <= fewLanes;
  $('#lanes-button').textContent = view.all ? 'Show fewer clients' : 'Show ' + plural(more, 'more client') + (match.length > 500 ? ' (500 at most)' : '');
  resize();
}

function resize() {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const height = top0 + Math.max(1, view.shown.length) * laneHeight + scrollHeight + 6;
  canvas.style.height = height + 'px';
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
  redraw();
}

let pending = 0;
function redraw() {
  if (!pending) pending = requestAnimationFrame(() => { pending = 0; draw(); });
}

// setAxis changes between wall-clock and simulated time. It shows the same share of the run.
function setAxis(sim) {
  if (sim === view.sim) return;
  const all = extent(), low = view.low / all, high = view.high / all;
  view.sim = sim;
  view.over = null;
  $('#axis-wall').setAttribute('aria-pressed', String(!sim));
  $('#axis-sim').setAttribute('aria-pressed', String(sim));
  legend();
  look(low * extent(), high * extent());
}

function legend() {
  const item = (name, text) => {
    const mark = el('i');
    mark.style.background = 'var(--' + name + ')';
    return el('span', '', mark, text);
  };
  const box = $('#legend');
  box.replaceChildren(item('work', 'computes'), item('wait', 'waits for another client'), item('other', 'neither: transport, dispatcher, waiting for a core'),
    item('critical', 'critical path'));
  if (view.arrows) box.append(item('message', 'message, from queued to delivered'));
  if (view.sim) box.append(el('span', '', 'bars: what the wall-clock time from one instant to the next was used for'));
}
