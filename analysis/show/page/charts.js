// The drawings beside the timeline.

// stackOf draws shares beside one another: [colour, share, what it is].
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

// ladder draws what the wall clock consists of: what messages need, what the protocol adds, what is lost besides.
function ladder() {
  const ideal = report.critical_path_ideal_s, conservative = report.critical_path_conservative_s, wall = report.wall_s || 1;
  const parts = [
    ['work', ideal / wall, 'needed by messages alone', ideal],
    ['wait', (conservative - ideal) / wall, 'added by the waits of the protocol', conservative - ideal],
    ['other', (wall - conservative) / wall, 'added by cores, transport and dispatcher', wall - conservative],
  ];
  const keys = el('div', 'legend');
  for (const [name, share, text, time] of parts) {
    const mark = el('i');
    mark.style.background = 'var(--' + name + ')';
    keys.append(el('span', '', mark, text + ': ' + seconds(time) + ' (' + percent(share) + ')'));
  }
  $('#ladder').append(el('h2', '', 'What the ' + seconds(report.wall_s) + ' consist of'), stackOf(parts), keys);
}

// blamePairs are the pairs that are drawn: those of the ten clients who waited most and of the ten that were waited for most.
function blamePairs() {
  const who = (b) => b.held_by || 'the pace of the run';
  const pairs = (report.blame || []).slice(0, 40).map((b) => ({ from: b.waiting, to: who(b), time: b.blocked_s }));
  const top = (side) => {
    const sums = new Map();
    for (const p of pairs) sums.set(p[side], (sums.get(p[side]) || 0) + p.time);
    return new Set([...sums].sort((x, y) => y[1] - x[1]).slice(0, 10).map(([name]) => name));
  };
  const from = top('from'), to = top('to');
  return pairs.filter((p) => from.has(p.from) && to.has(p.to));
}

// column places the names of one side below one another, each as high as its share, but high enough for its text.
function column(pairs, side, height) {
  const sums = new Map();
  for (const p of pairs) sums.set(p[side], (sums.get(p[side]) || 0) + p.time);
  const least = 26, gap = 8, free = height - sums.size * (least + gap) + gap;
  const all = [...sums.values()].reduce((a, b) => a + b, 0) || 1;
  let y = 0;
  const nodes = new Map();
  for (const [name, sum] of sums) {
    const node = { y, sum, height: least + sum / all * free, next: y };
    nodes.set(name, node);
    y += node.height + gap;
  }
  return nodes;
}

// blame draws who waits (left) for whom (right), as ribbons.
function blame() {
  const body = $('#blame .body'), note = $('#blame .note'), pairs = blamePairs();
  if (!pairs.length) {
    note.textContent = 'Nobody waited for anybody.';
    return;
  }
  note.textContent = 'On the left who waited, on the right whom for' +
    (pairs.length < data.all.blame ? '; the ' + pairs.length + ' longest of ' + count(data.all.blame) + ' pairs' : '') + '.';
  const rows = Math.max(new Set(pairs.map((p) => p.from)).size, new Set(pairs.map((p) => p.to)).size);
  const width = Math.max(240, body.clientWidth), height = Math.max(150, rows * 42), names = Math.min(150, width * 0.29);
  const left = column(pairs, 'from', height), right = column(pairs, 'to', height);
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Who waits for whom' });
  const x1 = names + 7, x2 = width - names - 7, mid = (x1 + x2) / 2;
  for (const p of pairs) {
    const a = left.get(p.from), z = right.get(p.to);
    const y1 = a.next, y2 = z.next, h1 = p.time / a.sum * a.height, h2 = p.time / z.sum * z.height;
    a.next += h1;
    z.next += h2;
    const d = `M${x1},${y1}C${mid},${y1} ${mid},${y2} ${x2},${y2}V${y2 + h2}C${mid},${y2 + h2} ${mid},${y1 + h1} ${x1},${y1 + h1}Z`;
    picture.append(svg('path', { d, class: 'ribbon', fill: 'var(--wait)' }, svg('title', {}, `${p.from} waited ${seconds(p.time)} for ${p.to}`)));
  }
  const cut = (name) => name.length * 6.8 > names ? name.slice(0, Math.floor(names / 6.8) - 1) + '…' : name;
  const label = (nodes, x, anchor, bar, fill) => nodes.forEach((node, name) => {
    const y = node.y + node.height / 2;
    picture.append(svg('rect', { x: bar, y: node.y, width: 6, height: node.height, rx: 2, fill }),
      svg('text', { x, y: y - 1, 'text-anchor': anchor }, svg('title', {}, name), cut(name)),
      svg('text', { x, y: y + 12, 'text-anchor': anchor, class: 'soft small' }, seconds(node.sum)));
  });
  label(left, names - 6, 'end', names, 'var(--wait)');
  label(right, width - names + 6, 'start', width - names - 6, 'var(--critical)');
  body.replaceChildren(picture);
}
window.addEventListener('resize', blame);

function usage() {
  const rows = el('div', 'rows'), shown = report.clients.slice(0, 14), wall = report.wall_s || 1;
  for (const c of shown) {
    const name = el('span', 'name', c.name);
    name.title = c.name;
    rows.append(name, stackOf([
      ['work', c.work_s / wall, 'computed ' + seconds(c.work_s)], ['wait', c.blocked_s / wall, 'waited ' + seconds(c.blocked_s)],
      ['other', c.overhead_s / wall, 'neither ' + seconds(c.overhead_s)],
    ]), el('span', 'value', percent(c.utilisation_share)));
  }
  $('#usage .note').textContent = 'How much of the run each computed, waited, or neither' +
    (shown.length < data.all.clients ? '; the ' + shown.length + ' of ' + count(data.all.clients) + ' that cost most' : ', those who cost most first') + '.';
  $('#usage .body').append(rows);
}

function whatIf() {
  const list = report.what_ifs || [], body = $('#whatif .body'), wall = report.wall_s || 1;
  $('#whatif .note').textContent = list.length ? 'What the run would take if something were different, predicted from its record.' :
    'No single change is predicted to make this run faster.';
  let changes = false;
  for (const p of list) {
    const bar = el('i');
    bar.style.width = 100 * Math.min(1, p.wall_s / wall) + '%';
    const gain = p.gain_share >= 0 ? 'saves ' + percent(p.gain_share) : 'costs ' + percent(-p.gain_share);
    body.append(el('div', 'if', el('span', 'gain', gain), el('code', '', p.change || '(nothing)'), p.changes_model ? ' *' : '',
      el('div', 'track', bar), el('small', '', seconds(p.wall_s) + ' instead of ' + seconds(report.wall_s))));
    changes = changes || p.changes_model;
  }
  if (changes) body.append(el('p', 'note', '* This changes the model too: its messages arrive at other times, so its results may differ.'));
}

// cores draws between which bounds the run lies on so many cores.
function cores() {
  const bounds = report.bounds || [], body = $('#cores .body');
  const best = bounds.length ? bounds[bounds.length - 1].played_s : 0;
  const few = best > 0 ? bounds.find((b) => b.played_s > 0 && b.played_s <= best / 0.9).cores : report.cores_for_90_percent;
  $('#cores .note').textContent = (best > 0 ? 'What the run would take, as predicted; the bars show what its work alone takes at least, and at most. ' :
    'What the run takes at least, and at most, without transport. ') + plural(few, 'core') + (few === 1 ? ' brings' : ' bring') + ' it within 90 % of its best.';
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
  $('#advice').hidden = !list.length;
  for (const a of list.slice(0, 20)) {
    $('#advice ul').append(el('li', '', a.text, a.cost_s > 0 ? ' (' : '', a.cost_s > 0 ? el('b', '', seconds(a.cost_s)) : '', a.cost_s > 0 ? ')' : ''));
  }
}
