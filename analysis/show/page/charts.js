// The sections of the page below the timeline, but for the tables. Each function makes one section: see section in data.js.

// stackOf draws shares side by side: [colour, share, text].
function stackOf(parts) {
  const box = el('div', 'stack');
  for (const [name, share, text] of parts) {
    if (share <= 0) continue;
    const part = el('i');
    part.style.background = 'var(--' + name + ')';
    part.style.width = 100 * share + '%';
    part.title = text;
    box.append(part);
  }
  return box;
}

// machine splits what lies beside the critical path. The page has one grey for each part.
function machine() {
  const m = report.machine || {};
  return [
    ['paced', pace, m.paced_s], ['nocore', 'waiting for a core', m.core_wait_s], ['dispatcher', 'dispatcher', m.dispatcher_s],
    ['other', m.dispatcher_s > 0 ? 'transport' : 'transport and dispatcher', m.transport_s],
  ].filter(([, , time]) => time > 0);
}

// breakdown draws what the wall-clock time consists of: what messages need, what the protocol adds, and the rest.
function breakdown() {
  const ideal = report.critical_path_ideal_s, conservative = report.critical_path_conservative_s, wall = report.wall_s || 1;
  const parts = [
    ['work', ideal / wall, 'needed by messages alone', ideal],
    ['wait', (conservative - ideal) / wall, 'added by the waits of the protocol', conservative - ideal],
    ...machine().map(([name, text, time]) => [name, time / wall, text, time]),
  ];
  const keys = el('div', 'legend');
  for (const [name, share, text, time] of parts) {
    const mark = el('i');
    mark.style.background = 'var(--' + name + ')';
    keys.append(el('span', '', mark, text + ': ' + seconds(time) + ' (' + percent(share) + ')'));
  }
  $('#breakdown').append(el('h2', '', 'What the ' + seconds(report.wall_s) + ' consist of'), stackOf(parts), keys);
}

// blamePairs returns the pairs that are drawn: of the ten clients that waited longest, and the ten that others waited for longest.
function blamePairs() {
  const pairs = (report.blame || []).slice(0, 40).map((b) => ({ from: b.waiting, to: b.held_by || pace, time: b.blocked_s }));
  const top = (side) => {
    const sums = new Map();
    for (const p of pairs) sums.set(p[side], (sums.get(p[side]) || 0) + p.time);
    return new Set([...sums].sort((x, y) => y[1] - x[1]).slice(0, 10).map(([name]) => name));
  };
  const from = top('from'), to = top('to');
  return pairs.filter((p) => from.has(p.from) && to.has(p.to));
}

// column places the names of one side below one another. Their heights are their shares of all waiting, on the same scale on both sides.
// A label that would lie on the one before it moves down.
function column(pairs, side, scale, gap) {
  const sums = new Map();
  for (const p of pairs) sums.set(p[side], (sums.get(p[side]) || 0) + p.time);
  let y = 0, free = 0;
  const nodes = new Map();
  for (const [name, sum] of [...sums].sort((a, b) => b[1] - a[1])) {
    const height = Math.max(1, sum * scale), label = Math.max(free, y + height / 2 - 8);
    nodes.set(name, { y, sum, height, next: y, label });
    free = label + 17;
    y += height + gap;
  }
  return { nodes, bottom: Math.max(y, free) };
}

// blame draws which client (left) waited for which (right), as ribbons.
function blame() {
  const pairs = blamePairs();
  const body = section('blame', '.pair', 'Who waits for whom', !pairs.length ? 'No client waited for another.' :
    'The clients on the left waited for those on the right. Heights are times, on one scale' +
    (pairs.length < data.all.blame ? '; the ' + pairs.length + ' longest of ' + count(data.all.blame) + ' pairs' : '') + '.');
  if (!pairs.length) return;
  const all = pairs.reduce((sum, p) => sum + p.time, 0), rows = Math.max(new Set(pairs.map((p) => p.from)).size, new Set(pairs.map((p) => p.to)).size);
  const width = Math.max(240, body.clientWidth), scale = Math.max(120, rows * 26) / all, names = Math.min(190, width * 0.36);
  const left = column(pairs, 'from', scale, 5), right = column(pairs, 'to', scale, 5), height = Math.ceil(Math.max(left.bottom, right.bottom));
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Who waits for whom' });
  const x1 = names + 7, x2 = width - names - 7, mid = (x1 + x2) / 2;
  for (const p of pairs) {
    const a = left.nodes.get(p.from), z = right.nodes.get(p.to), h = p.time * scale;
    const y1 = a.next, y2 = z.next;
    a.next += h;
    z.next += h;
    const d = `M${x1},${y1}C${mid},${y1} ${mid},${y2} ${x2},${y2}V${y2 + h}C${mid},${y2 + h} ${mid},${y1 + h} ${x1},${y1 + h}Z`;
    picture.append(svg('path', { d, class: 'ribbon', fill: 'var(--wait)', 'data-name': p.to }, svg('title', {}, `${p.from} waited ${seconds(p.time)} for ${p.to}`)));
  }
  const label = (nodes, x, anchor, bar, fill) => nodes.forEach((node, name) => {
    const time = '  ' + seconds(node.sum), room = Math.floor(names / 6.6) - time.length;
    const text = svg('text', { x, y: node.label + 12, 'text-anchor': anchor, 'data-name': name }, svg('title', {}, name + time),
      name.length > room ? name.slice(0, Math.max(1, room - 1)) + '…' : name, svg('tspan', { class: 'soft small' }, time));
    picture.append(svg('rect', { x: bar, y: node.y, width: 6, height: node.height, fill }), text);
  });
  label(left.nodes, names - 6, 'end', names, 'var(--wait)');
  label(right.nodes, width - names + 6, 'start', width - names - 6, 'var(--critical)');
  body.replaceChildren(picture);
}
window.addEventListener('resize', blame);

// usage draws what each client did with the run.
function usage() {
  const rows = el('div', 'rows'), shown = report.clients.slice(0, 14), wall = report.wall_s || 1;
  for (const c of shown) {
    const name = el('span', 'name', c.name);
    name.title = c.name;
    name.dataset.name = c.name;
    rows.append(name, stackOf([
      ['work', c.work_s / wall, 'computed ' + seconds(c.work_s)], ['wait', c.blocked_s / wall, 'waited ' + seconds(c.blocked_s)],
      ['nocore', c.core_wait_s / wall, 'waited for a core ' + seconds(c.core_wait_s)], ['dispatcher', c.dispatcher_s / wall, 'dispatcher ' + seconds(c.dispatcher_s)],
      ['other', c.transport_s / wall, (c.dispatcher_s > 0 ? 'transport ' : 'transport and dispatcher ') + seconds(c.transport_s)],
      ['paced', c.absent_s / wall, 'had left for ' + seconds(c.absent_s)],
    ]), el('span', 'value', percent(c.utilisation_share)));
  }
  section('usage', '.pair', 'Utilisation', 'How much of the run each client computed, waited, or neither' +
    (shown.length < data.all.clients ? '; the ' + shown.length + ' most critical of ' + count(data.all.clients) : ', the most critical first') + '.').append(rows);
}

// whatIf draws the predictions.
function whatIf() {
  const list = report.what_ifs || [], wall = report.wall_s || 1;
  const body = section('whatif', '.columns', 'What if', list.length ? 'What the run would take if something were different, predicted from its record.' :
    report.unpredicted ? 'Nothing is predicted: ' + report.unpredicted : 'None of the changes that were tried is predicted to save more than the error of the prediction: longer delays, promises, reaction times, twice the cores.');
  if (report.played) body.append(el('p', 'note', 'The simulation of the run as it was took ' + seconds(report.played.played_s) + '; measured: ' +
    seconds(report.played.measured_s) + '.'));
  let changes = false;
  if (list.some((p) => p.change.includes('links['))) body.append(el('p', 'note', 'links[0] is the first rule of the scenario\'s links, as for metasim run --set.'));
  for (const p of list) {
    const most = Math.max(wall, p.wall_s), bar = el('i', 'stays'), gained = el('i', p.gain_share >= 0 ? 'gained' : 'lost');
    bar.style.width = 100 * Math.min(wall, p.wall_s) / most + '%';
    gained.style.width = 100 * Math.abs(wall - p.wall_s) / most + '%';
    const gain = p.gain_share >= 0 ? 'saves ' + percent(p.gain_share) : 'costs ' + percent(-p.gain_share);
    body.append(el('div', 'if', el('span', 'gain', gain), el('code', '', p.change || '(nothing)'), p.changes_model ? ' *' : '',
      el('div', 'track', bar, gained), el('small', '', seconds(p.wall_s) + ' instead of ' + seconds(report.wall_s))));
    changes = changes || p.changes_model;
  }
  if (changes) body.append(el('p', 'note', '* This changes the model too: its messages arrive at other times, so its results may differ.'));
}

// cores draws what the run takes on other numbers of cores.
function cores() {
  const bounds = report.bounds || [];
  const best = bounds.length ? bounds[bounds.length - 1].played_s : 0;
  const few = best > 0 ? bounds.find((b) => b.played_s > 0 && b.played_s <= best / 0.9).cores : report.cores_for_90_percent;
  const body = section('cores', '.columns', 'How many cores', (best > 0 ?
    'What the run would take, as predicted; the bars show what its work alone takes at least, and at most. ' :
    'What the run takes at least, and at most, without transport. ') + plural(few, 'core') + (few === 1 ? ' brings' : ' bring') + ' it within 90 % of its best.');
  const most = Math.max(1e-12, ...bounds.map((b) => b.most_s));
  const rows = el('div', 'rows');
  for (const b of bounds) {
    rows.append(el('span', '', plural(b.cores, 'core')),
      stackOf([['work', b.least_s / most, 'at least ' + seconds(b.least_s)], ['wait', (b.most_s - b.least_s) / most, 'at most ' + seconds(b.most_s)]]),
      el('span', 'value', b.played_s > 0 ? seconds(b.played_s) : seconds(b.least_s) + ' to ' + seconds(b.most_s)));
  }
  body.append(rows);
}

function advice() {
  const list = report.advice || [];
  if (!list.length) return;
  const items = el('ul');
  section('advice', '.columns', 'Advice').append(items);
  for (const a of list.slice(0, 20)) {
    const gain = a.gain_share > 0 ? 'saves ' + percent(a.gain_share) : a.cost_s > 0 ? seconds(a.cost_s) : '';
    items.append(el('li', '', a.text, ...(gain ? [' (', el('b', '', gain), ')'] : [])));
  }
}
