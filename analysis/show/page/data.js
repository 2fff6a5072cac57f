// The data of the page, and helpers. Names come from users: they are set as text, never as markup.
const data = JSON.parse(document.getElementById('data').textContent);
const report = data.report;
const $ = (selector) => document.querySelector(selector);

// el makes an element with a class and contents: texts and elements.
function el(tag, cls, ...contents) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  e.append(...contents);
  return e;
}

// section adds a card with a title and a note to the end of where, or replaces the card with this id. It returns the body of the card.
function section(id, where, title, note) {
  const body = el('div', 'body'), card = el('section', 'card', el('h2', '', title), note ? el('p', 'note', note) : '', body);
  const old = document.getElementById(id);
  card.id = id;
  if (old) old.replaceWith(card);
  else $(where).append(card);
  return body;
}

// svg makes an element of a drawing.
function svg(tag, attributes, ...contents) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...contents);
  return e;
}

function digits(x) {
  const a = Math.abs(x);
  return x.toFixed(a >= 100 ? 0 : a >= 10 ? 1 : 2);
}

// span writes nanoseconds in their unit, as a scenario does: 5ms.
function span(ns) {
  const a = Math.abs(ns);
  if (a === 0) return '0';
  if (a < 1e3) return Math.round(ns) + 'ns';
  if (a < 1e6) return digits(ns / 1e3) + 'µs';
  if (a < 1e9) return digits(ns / 1e6) + 'ms';
  return digits(ns / 1e9) + 's';
}
const seconds = (s) => span(s * 1e9);
const percent = (share) => (100 * share).toFixed(0) + '\u00a0%';
const count = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
const plural = (n, word) => count(n) + ' ' + word + (n === 1 ? '' : 's');
// pace is what a client waits for that waits for no other.
const pace = report.nested ? 'the run around it' : 'the pace of the run';
const nameOf = (i) => i < 0 ? pace : data.names[i];

// readLane takes a lane apart: a column for each property, an entry for each piece.
function readLane(row) {
  const lane = { begin: [], end: [], from: [], until: [], wait: [], work: [], noCore: [], grants: [], critical: [], cause: [], holds: [] };
  let begin = 0, from = 0;
  for (let i = 0; i < row.length;) {
    begin += row[i];
    from += row[i + 1];
    if (lane.from.length) lane.until.push(from);
    lane.begin.push(begin);
    lane.from.push(from);
    lane.end.push(begin + row[i + 2]);
    lane.wait.push(row[i + 3]);
    lane.work.push(row[i + 4]);
    lane.noCore.push(row[i + 5]);
    lane.grants.push(row[i + 6]);
    lane.critical.push(row[i + 7]);
    lane.cause.push(row[i + 8]);
    const holds = [];
    let n = row[i + 9];
    for (i += 10; n > 0; n--, i += 4) holds.push({ begin: begin + row[i], length: row[i + 1], root: row[i + 2], path: row[i + 3] });
    lane.holds.push(holds);
  }
  lane.until.push(Math.max(from, report.end_sim_ns));
  lane.mean = lane.begin.length ? (begin - lane.begin[0]) / lane.begin.length : 0;
  return lane;
}

const lanes = data.lanes.map(readLane);

// round is how long a round of the server took on average; 0: rounds were not measured.
const round = Math.max(0, ...report.clients.map((c) => c.grants > 0 ? c.dispatcher_s * 1e9 / c.grants : 0));

// greys split the time of a piece in which a client neither computed nor waited: for a core, for the dispatcher (an average round for each
// grant), and the rest.
function greys(lane, k) {
  const other = Math.max(0, lane.end[k] - lane.begin[k] - lane.work[k] - lane.wait[k]);
  const noCore = Math.min(other, lane.noCore[k]), dispatcher = Math.min(other - noCore, lane.grants[k] * round);
  return { noCore, dispatcher, other };
}

// The critical path in stretches, and those of each lane. Shorter ones that were joined have less work than their length.
const path = [];
for (let i = 0, begin = 0; i < data.critical.length; i += 4) {
  begin += data.critical[i + 1];
  path.push({ lane: data.critical[i], begin, end: begin + data.critical[i + 2], work: data.critical[i + 3] });
}
lanes.forEach((lane, i) => {
  lane.path = path.filter((p) => p.lane === i);
  lane.pathEnds = lane.path.map((p) => p.end);
});

const messages = [];
for (let i = 0, queued = 0; i < data.messages.length; i += 8) {
  const [from, to, channel, size, sent, late, later, delivered] = data.messages.slice(i, i + 8);
  queued += later;
  messages.push({ from, to, channel, size, sent, due: sent + late, queued, delivered: delivered < 0 ? -1 : queued + delivered });
}

// firstAfter returns the index of the first entry of an ascending list that is greater than x.
function firstAfter(list, x) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] > x) high = middle; else low = middle + 1;
  }
  return low;
}

// pathText says over which links a root holds a client back.
function pathText(i) {
  if (i < 0) return '';
  const row = data.paths[i], hops = [];
  for (let k = 0; k < row.length; k += 4) {
    hops.push(nameOf(row[k]) + ' → ' + nameOf(row[k + 1]) + ' on ' + data.channels[row[k + 2]] +
      ' (' + (row[k + 3] === 0 ? 'one step' : span(row[k + 3])) + ')');
  }
  return hops.join(', ');
}

// color returns one of the page's colours, as they are in its light or dark style.
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
