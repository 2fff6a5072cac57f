// The view of the timeline: which part of which axis is shown, and which lanes.
const canvas = $('#lanes');
const laneHeight = 26, barHeight = 18, profileHeight = 64, axisHeight = 24, scrollHeight = 14;
const top0 = profileHeight + axisHeight;
const fewLanes = 16;

const view = {
  sim: false, critical: true, arrows: false, culprits: false, group: true, all: false, filter: '',
  open: new Set(), // the groups whose clients have a row each
  range: null, // what is selected, from and to
  same: '', // the client that is pointed at, here or anywhere on the page
  low: 0, high: Math.max(1, data.wall_ns),
  shown: [], // the rows that are drawn, from the top: a name, and the indexes of its lanes
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

// stem is what the names of clients that are alike have in common.
const stem = (name) => name.replace(/[-_. ]?\d+$/, '');
const leastGroup = 4;

// rowsOf makes a row of each lane, or of each group of lanes that are alike, where there are many.
function rowsOf(match) {
  const sizes = new Map(), rows = [], groups = new Map();
  for (const i of match) sizes.set(stem(nameOf(i)), (sizes.get(stem(nameOf(i))) || 0) + 1);
  for (const i of match) {
    const name = stem(nameOf(i));
    if (!view.group || match.length <= fewLanes || sizes.get(name) < leastGroup || view.open.has(name)) {
      rows.push({ name: nameOf(i), lanes: [i] });
    } else if (groups.has(name)) {
      groups.get(name).lanes.push(i);
    } else {
      groups.set(name, { name: name + ' × ' + sizes.get(name), stem: name, lanes: [i] });
      rows.push(groups.get(name));
    }
  }
  return rows;
}

// choose selects the rows that are drawn.
function choose() {
  const want = view.filter.toLowerCase();
  const match = rowsOf(lanes.map((_, i) => i).filter((i) => nameOf(i).toLowerCase().includes(want)));
  view.shown = view.all ? match.slice(0, 500) : match.slice(0, fewLanes);
  const more = match.length - view.shown.length;
  $('#lanes-more').hidden = match.length <= fewLanes;
  $('#lanes-button').textContent = view.all ? 'Show fewer rows' : 'Show ' + plural(more, 'more row') + (match.length > 500 ? ' (500 at most)' : '');
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
  view.over = view.range = null;
  $('#axis-wall').setAttribute('aria-pressed', String(!sim));
  $('#axis-sim').setAttribute('aria-pressed', String(sim));
  legend();
  look(low * extent(), high * extent());
}

function legend() {
  const item = (name, text, fill) => {
    const mark = el('i');
    mark.style.background = fill || 'var(--' + name + ')';
    return el('span', '', mark, text);
  };
  const box = $('#legend');
  box.replaceChildren(item('work', 'computes'), item('wait', view.culprits ? 'waits for any other client' : 'waits for another client'), 
    ...(report.core_wait_s > 0 ? [item('nocore', 'waits for a core')] : []), ...(round > 0 ? [item('dispatcher', 'dispatcher, on average')] : []),
    item('other', round > 0 ? 'transport' : 'transport and dispatcher'), item('critical', 'critical path'));
  if (view.culprits) for (const root of culprits) box.append(item('', 'waits for ' + nameOf(root), culpritColor(root)));
  if (view.arrows) box.append(item('message', 'message, from queued to delivered'));
  if (view.sim) box.append(el('span', '', 'bars: what the wall-clock time from one instant to the next was used for'));
}

// The clients that others waited for longest, each with a colour of its own. All of them are light, so that dark text can be read on them; none
// is that of waiting for anybody else.
const culpritColors = ['#f28f7b', '#7cc4a4', '#9db7f5', '#e59ac0', '#c9c46a', '#b79ae0', '#6cc5d9'];
const culprits = (() => {
  const held = new Map();
  for (const lane of lanes) for (const holds of lane.holds) for (const h of holds) held.set(h.root, (held.get(h.root) || 0) + h.length);
  return [...held].sort((x, y) => y[1] - x[1]).slice(0, culpritColors.length).map(([root]) => root);
})();
const culpritColor = (root) => culpritColors[culprits.indexOf(root)];

// startEnd is when the last client had initialized. The view begins there if that took much of the run.
const startEnd = Math.max(0, ...lanes.map((lane) => lane.grants[0] === 0 ? lane.end[0] : 0));

// within sums up what a lane did from low to high, in nanoseconds of wall clock. Of a piece of several grants it is a share.
function within(lane, low, high) {
  const sum = { work: 0, wait: 0, other: 0, noCore: 0, dispatcher: 0, critical: 0 };
  const over = (a, b) => Math.max(0, Math.min(b, high) - Math.max(a, low));
  for (let k = firstAfter(ends(lane), low); k < lane.begin.length && begins(lane)[k] < high; k++) {
    const a = begins(lane)[k], b = ends(lane)[k], total = lane.end[k] - lane.begin[k], share = b > a ? over(a, b) / (b - a) : 1;
    const exact = !view.sim && lane.grants[k] <= 1, granted = lane.begin[k] + lane.wait[k];
    const work = exact ? over(granted, granted + lane.work[k]) : lane.work[k] * share;
    const wait = exact ? over(lane.begin[k], granted) : lane.wait[k] * share;
    sum.work += work;
    sum.wait += wait;
    const other = Math.max(0, total * share - work - wait), grey = greys(lane, k), part = grey.other > 0 ? other / grey.other : 0;
    sum.other += other;
    sum.noCore += grey.noCore * part;
    sum.dispatcher += grey.dispatcher * part;
    if (view.sim) sum.critical += lane.critical[k] * share;
  }
  if (!view.sim) for (const p of lane.path) if (p.end > low && p.begin < high) sum.critical += p.work * over(p.begin, p.end) / (p.end - p.begin);
  return sum;
}

// add sums up the sums of several lanes.
const add = (all) => all.reduce((a, b) => Object.fromEntries(Object.keys(a).map((key) => [key, a[key] + b[key]])));
