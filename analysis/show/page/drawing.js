// The drawing of the timeline. Pieces that are narrower than two pixels are summed up for each pixel, so that no piece hides another.
const paint = {};

function draw() {
  for (const name of ['card', 'ink', 'soft', 'line', 'work', 'wait', 'wait-ink', 'other', 'nocore', 'dispatcher', 'critical', 'message', 'accent', 'press']) paint[name] = color(name);
  const c = canvas.getContext('2d');
  const width = canvas.clientWidth;
  c.clearRect(0, 0, width, canvas.clientHeight);
  c.font = '12px system-ui, "DejaVu Sans", sans-serif';
  c.textBaseline = 'middle';
  drawAxis(c, width);
  drawProfile(c);
  view.shown.forEach((r, row) => drawRow(c, r, row));
  c.save();
  c.beginPath();
  c.rect(gutter(), 0, plotWidth(), canvas.clientHeight);
  c.clip();
  if (view.critical && !view.sim) drawCritical(c);
  if (view.arrows) drawMessages(c);
  drawOver(c);
  drawRange(c);
  c.restore();
  drawScroll(c);
}

// step returns a round distance for ticks.
function step(width, most) {
  const raw = Math.max(1, width / most), power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
}

function tickText(time, every) {
  const unit = time >= 1e9 ? [1e9, 's'] : time >= 1e6 ? [1e6, 'ms'] : time >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  const decimals = Math.max(0, Math.ceil(Math.log10(unit[0] / every) - 1e-9));
  return time === 0 ? '0' : (time / unit[0]).toFixed(Math.min(9, decimals)) + unit[1];
}

function drawAxis(c, width) {
  const every = step(view.high - view.low, plotWidth() / 100);
  const bottom = top0 + view.shown.length * laneHeight;
  const offset = view.low > 500 * every ? Math.floor(view.low / every / 100) * every * 100 : 0;
  c.textAlign = 'left';
  c.fillStyle = paint.soft;
  if (offset) c.fillText(fit(c, tickText(offset, every * 100) + ' +', gutter() - 8), 0, profileHeight + axisHeight / 2);
  c.textAlign = 'center';
  c.lineWidth = 1;
  for (let k = Math.ceil(view.low / every); k * every <= view.high; k++) {
    const x = Math.round(toX(k * every)) + 0.5;
    c.strokeStyle = paint.line;
    c.beginPath();
    c.moveTo(x, 6);
    c.lineTo(x, bottom);
    c.stroke();
    c.fillStyle = paint.soft;
    const text = tickText(k * every - offset, every), half = c.measureText(text).width / 2;
    c.fillText(text, Math.min(width - half, Math.max(gutter() + half, x)), profileHeight + axisHeight / 2);
  }
}

// drawProfile draws how many clients were authorized at once, and in front of it how many computed.
function drawProfile(c) {
  const profile = report.parallelism_over_time || [];
  const clients = Math.max(1, report.clients.length);
  const most = usual(profile), height = profileHeight - 12;
  const n = Math.ceil(plotWidth()), weight = new Float64Array(n + 1);
  const running = new Float64Array(n + 1), computing = new Float64Array(n + 1);
  let begin = 0, wall = 0;
  for (const p of profile) {
    const end = view.sim ? p.end_sim_ns : p.end_s * 1e9;
    const a = Math.floor(toX(begin) - gutter()), b = Math.max(a + 1, Math.floor(toX(end) - gutter()));
    for (let x = Math.max(0, a); x < Math.min(n, b); x++) {
      const w = (p.end_s - wall) / (b - a);
      running[x] += p.running * w;
      computing[x] += p.computing * w;
      weight[x] += w;
    }
    [begin, wall] = [end, p.end_s];
  }
  for (const [sum, color] of [[running, paint.other], [computing, paint.work]]) {
    c.fillStyle = color;
    for (let x = 0; x < n; x++) {
      const h = weight[x] ? Math.min(1.15, sum[x] / weight[x] / most) * height : 0;
      c.fillRect(gutter() + x, profileHeight - h, 1, h);
    }
  }
  c.textAlign = 'right';
  c.fillStyle = paint.soft;
  c.fillText(digits(most), gutter() - 8, 14);
  c.fillText('0', gutter() - 8, profileHeight - 4);
  c.textAlign = 'left';
  c.fillText(gutter() < 90 ? 'at once' : 'at once, of ' + Math.max(clients, data.all.clients), 0, profileHeight / 2 + 3);
  c.fillStyle = paint.soft;
  c.fillRect(gutter(), profileHeight, plotWidth(), 1);
}

// usual is the highest number of clients at once, but for the highest fiftieth of the time: a start in which all run does not make the rest flat.
function usual(profile) {
  let begin = 0;
  const list = profile.map((p) => {
    const took = p.end_s - begin;
    begin = p.end_s;
    return [p.running, took];
  }).sort((x, y) => y[0] - x[0]);
  let left = 0.02 * begin;
  for (const [running, took] of list) if ((left -= took) < 0) return Math.max(1, running);
  return 1;
}

function drawRow(c, r, row) {
  const y = top0 + row * laneHeight + (laneHeight - barHeight) / 2;
  const same = r.lanes.some((i) => nameOf(i) === view.same);
  if (same) {
    c.fillStyle = paint.press;
    c.fillRect(0, y - 4, canvas.clientWidth, barHeight + 8);
  }
  c.textAlign = 'left';
  c.fillStyle = same ? paint.accent : paint.ink;
  c.fillText(fit(c, (r.stem === undefined ? '' : '▸ ') + r.name, gutter() - 10), 0, y + barHeight / 2);
  c.fillStyle = paint.line;
  c.fillRect(gutter(), y + barHeight / 2, plotWidth(), 1);
  if (r.lanes.length === 1) drawLane(c, r.lanes[0], y);
  else drawGroup(c, r, y);
}

// newSums has what happened at each pixel: time, work, the parts of the grey, waiting by its colour, and what is critical.
const newSums = () => {
  const n = Math.ceil(plotWidth()) + 1;
  return { n, total: new Float64Array(n), work: new Float64Array(n), noCore: new Float64Array(n), dispatcher: new Float64Array(n), critical: new Float64Array(n), wait: new Map() };
};

// eachWait calls f for each colour of the waiting of a piece, with the sums of that colour and its part of the waiting.
function eachWait(sums, lane, k, f) {
  const holds = view.culprits ? lane.holds[k] : [], held = holds.reduce((all, h) => all + h.length, 0);
  for (const [color, part] of held > 0 ? holds.map((h) => [waitColor([h]), h.length / held]) : [[paint.wait, 1]]) {
    if (!sums.wait.has(color)) sums.wait.set(color, new Float64Array(sums.n));
    f(sums.wait.get(color), lane.wait[k] * part);
  }
}

// drawSums draws the time of each pixel as high as its share of whole: work at the bottom, then the greys, then waiting, one colour on the other.
function drawSums(c, sums, y, whole) {
  const layers = [[paint.work, sums.work], [paint.nocore, sums.noCore], [paint.dispatcher, sums.dispatcher], ...[paint.wait, ...culpritColors].filter((color) => sums.wait.has(color)).map((color) => [color, sums.wait.get(color)])];
  for (let x = 0; x < sums.n; x++) {
    if (!sums.total[x]) continue;
    const unit = barHeight / (whole || sums.total[x]), top = Math.min(barHeight, sums.total[x] * unit);
    c.fillStyle = paint.other;
    c.fillRect(gutter() + x, y + barHeight - top, 1, top);
    let low = 0;
    for (const [color, sum] of layers) {
      const height = Math.min(barHeight - low, sum[x] * unit);
      if (height <= 0) continue;
      c.fillStyle = color;
      c.fillRect(gutter() + x, y + barHeight - low - height, 1, height);
      low += height;
    }
  }
}

// drawGroup draws what the share of the clients of a group did at each time.
function drawGroup(c, r, y) {
  const sums = newSums();
  const x = (time) => toX(time) - gutter();
  for (const i of r.lanes) {
    const lane = lanes[i];
    for (let k = firstAfter(ends(lane), view.low - 1); k < lane.begin.length && begins(lane)[k] <= view.high; k++) {
      const a = x(begins(lane)[k]), b = x(ends(lane)[k]), total = Math.max(1, lane.end[k] - lane.begin[k]);
      spread(sums.total, a, b, 1);
      spread(sums.work, a, b, lane.work[k] / total);
      const grey = greys(lane, k);
      spread(sums.noCore, a, b, grey.noCore / total);
      spread(sums.dispatcher, a, b, grey.dispatcher / total);
      eachWait(sums, lane, k, (sum, wait) => spread(sum, a, b, wait / total));
      if (view.sim) spread(sums.critical, a, b, lane.critical[k] / total);
    }
    if (!view.sim) for (const p of lane.path) spread(sums.critical, x(p.begin), x(p.end), p.work / (p.end - p.begin));
  }
  drawSums(c, sums, y, r.lanes.length);
  drawRed(c, sums.critical, y);
}

// drawRed underlines the critical part of each pixel.
function drawRed(c, critical, y) {
  if (!view.critical) return;
  c.fillStyle = paint.critical;
  for (let x = 0; x < critical.length; x++) {
    if (critical[x] > 0) c.fillRect(gutter() + x, y + barHeight, 1, Math.max(1, 3 * Math.min(1, critical[x])));
  }
}

function drawLane(c, i, y) {
  const lane = lanes[i];
  c.save();
  c.beginPath();
  c.rect(gutter(), y - 4, plotWidth(), barHeight + 8);
  c.clip();
  const sums = newSums();
  const first = firstAfter(ends(lane), view.low - 1);
  for (let k = first; k < lane.begin.length && begins(lane)[k] <= view.high; k++) {
    const a = toX(begins(lane)[k]), b = toX(ends(lane)[k]);
    if (b - a < 2) addUp(sums, lane, k, (a + b) / 2 - gutter());
    else if (view.sim || lane.grants[k] > 1) drawShares(c, lane, k, a, b, y);
    else drawGrant(c, lane, k, a, b, y);
    if (view.sim) spread(sums.critical, a - gutter(), b - gutter(), lane.critical[k] / Math.max(1, lane.end[k] - lane.begin[k]));
  }
  drawSums(c, sums, y);
  if (!view.sim) {
    for (let k = firstAfter(lane.pathEnds, view.low - 1); k < lane.path.length && lane.path[k].begin <= view.high; k++) {
      const p = lane.path[k];
      spread(sums.critical, toX(p.begin) - gutter(), toX(p.end) - gutter(), p.work / (p.end - p.begin));
    }
  }
  drawRed(c, sums.critical, y);
  c.restore();
}

// spread adds a share of the time from a to b to the pixels there: a pixel is 1 if the whole of it is critical.
function spread(sums, a, b, share) {
  if (b - a < 1e-9) b = a + 1e-9;
  for (let x = Math.max(0, Math.floor(a)); x < Math.min(sums.length, b); x++) sums[x] += share * (Math.min(b, x + 1) - Math.max(a, x));
}

function addUp(sums, lane, k, x) {
  x = Math.floor(x);
  if (x < 0 || x >= sums.n) return;
  sums.total[x] += lane.end[k] - lane.begin[k];
  sums.work[x] += lane.work[k];
  const grey = greys(lane, k);
  sums.noCore[x] += grey.noCore;
  sums.dispatcher[x] += grey.dispatcher;
  eachWait(sums, lane, k, (sum, wait) => { sum[x] += wait; });
}

// waitColor is the colour of waiting: of the client that was waited for longest, if that is wanted.
function waitColor(holds) {
  if (!view.culprits || !holds.length) return paint.wait;
  const longest = holds.reduce((a, b) => b.length > a.length ? b : a);
  return culpritColor(longest.root) || paint.wait;
}

// drawShares draws the shares of a time that were work (at the bottom), the greys, and waiting.
function drawShares(c, lane, k, a, b, y) {
  const total = Math.max(1, lane.end[k] - lane.begin[k]), width = Math.max(1, b - a - (b - a > 5 ? 1 : 0)), grey = greys(lane, k);
  c.fillStyle = paint.other;
  c.fillRect(a, y, width, barHeight);
  let low = 0;
  for (const [color, time] of [[paint.work, lane.work[k]], [paint.nocore, grey.noCore], [paint.dispatcher, grey.dispatcher], [waitColor(lane.holds[k]), lane.wait[k]]]) {
    const height = Math.min(barHeight - low, barHeight * time / total);
    c.fillStyle = color;
    c.fillRect(a, y + barHeight - low - height, width, height);
    low += height;
  }
}

// drawGrant draws one grant: the wait, then the work, then the greys, of which only the length is known.
function drawGrant(c, lane, k, a, b, y) {
  const granted = lane.begin[k] + lane.wait[k], g = toX(granted), grey = greys(lane, k);
  const end = Math.min(lane.end[k], granted + lane.work[k]), done = toX(end);
  if (g > a) {
    c.fillStyle = waitColor(lane.holds[k]);
    c.fillRect(a, y + 5, g - a, barHeight - 10);
  }
  c.fillStyle = paint.other;
  c.fillRect(g, y, Math.max(0.5, b - g), barHeight);
  for (const [color, time] of [[paint.dispatcher, grey.noCore + grey.dispatcher], [paint.nocore, grey.noCore]]) {
    c.fillStyle = color;
    c.fillRect(done, y, toX(end + time) - done, barHeight);
  }
  c.fillStyle = paint.work;
  c.fillRect(g, y, Math.max(0.5, done - g - (done - g > 5 ? 1 : 0)), barHeight);
  for (const hold of lane.holds[k]) {
    const from = Math.max(gutter(), toX(hold.begin)), width = toX(hold.begin + hold.length) - from;
    if (width < (view.culprits ? 1 : 46)) continue;
    c.fillStyle = waitColor([hold]);
    c.fillRect(from, y, width, barHeight);
    if (width < 46) continue;
    c.fillStyle = c.fillStyle === paint.wait ? paint['wait-ink'] : '#18202c';
    c.fillText(fit(c, 'for ' + nameOf(hold.root), width - 10), from + 5, y + barHeight / 2 + 0.5);
  }
}

// fit shortens a text that is too long.
function fit(c, text, width) {
  if (c.measureText(text).width <= width) return text;
  let n = text.length;
  while (n > 1 && c.measureText(text.slice(0, n) + '…').width > width) n--;
  return text.slice(0, n) + '…';
}

// drawCritical joins the stretches of the critical path: where it changes rows, what one client sent or reported let the other go on.
function drawCritical(c) {
  const rows = rowOf();
  c.strokeStyle = paint.critical;
  c.lineWidth = 1.5;
  c.globalAlpha = 0.8;
  c.beginPath();
  for (let k = 1; k < path.length; k++) {
    const [p, q] = [path[k - 1], path[k]];
    if (q.begin < view.low || p.end > view.high || rows.get(p.lane) === rows.get(q.lane) || !rows.has(p.lane) || !rows.has(q.lane)) continue;
    if (p.work < p.end - p.begin || q.work < q.end - q.begin || toX(q.end) - toX(p.begin) < 4) continue;
    c.moveTo(toX(p.end), middle(rows.get(p.lane)) + barHeight / 2 + 1.5);
    c.lineTo(toX(q.begin), middle(rows.get(q.lane)) + barHeight / 2 + 1.5);
  }
  c.stroke();
  c.globalAlpha = 1;
}

const middle = (row) => top0 + row * laneHeight + laneHeight / 2;
const rowOf = () => new Map(view.shown.flatMap((r, row) => r.lanes.map((i) => [i, row])));

function arrow(c, x1, y1, x2, y2) {
  const angle = Math.atan2(y2 - y1, x2 - x1);
  c.beginPath();
  c.moveTo(x1, y1);
  c.lineTo(x2, y2);
  for (const turn of [2.7, -2.7]) {
    c.moveTo(x2, y2);
    c.lineTo(x2 + 6 * Math.cos(angle + turn), y2 + 6 * Math.sin(angle + turn));
  }
  c.stroke();
}

// drawMessages draws arrows. The more there are, the fainter they are.
function drawMessages(c) {
  const rows = rowOf();
  const seen = messages.filter((m) => {
    const [a, b] = view.sim ? [m.sent, m.due] : [m.queued, m.delivered];
    return b >= view.low && a <= view.high && rows.has(m.from) && rows.has(m.to);
  });
  c.strokeStyle = paint.message;
  c.lineWidth = 1.2;
  c.globalAlpha = Math.max(0.12, Math.min(0.9, 60 / (seen.length + 1)));
  for (const m of seen) {
    const [a, b] = view.sim ? [m.sent, m.due] : [m.queued, m.delivered];
    arrow(c, toX(a), middle(rows.get(m.from)), toX(b), middle(rows.get(m.to)));
  }
  c.globalAlpha = 1;
}

// drawOver draws which client the piece under the pointer waits for.
function drawOver(c) {
  if (!view.over) return;
  const { lane: i, piece: k, time } = view.over, lane = lanes[i], rows = rowOf();
  if (!rows.has(i)) return;
  const y = middle(rows.get(i)) - barHeight / 2;
  c.strokeStyle = paint.ink;
  c.lineWidth = 1.5;
  c.strokeRect(toX(begins(lane)[k]) - 0.5, y - 1.5, Math.max(2, toX(ends(lane)[k]) - toX(begins(lane)[k])) + 1, barHeight + 3);
  const roots = new Set(lane.holds[k].map((h) => h.root).filter((r) => rows.has(r)));
  for (const root of roots) arrow(c, toX(time), middle(rows.get(i)), toX(time), middle(rows.get(root)));
}

// drawRange draws what is selected.
function drawRange(c) {
  if (!view.range) return;
  const a = toX(Math.min(...view.range)), b = toX(Math.max(...view.range)), bottom = top0 + view.shown.length * laneHeight;
  c.globalAlpha = 0.14;
  c.fillStyle = paint.accent;
  c.fillRect(a, 0, b - a, bottom);
  c.globalAlpha = 1;
  for (const x of [a, b]) c.fillRect(x - 0.5, 0, 1, bottom);
}

// drawScroll draws which part of the run is shown.
function drawScroll(c) {
  const y = top0 + view.shown.length * laneHeight + 6, all = extent();
  c.fillStyle = paint.line;
  c.beginPath();
  c.roundRect(gutter(), y, plotWidth(), 8, 4);
  c.fill();
  c.fillStyle = paint.accent;
  c.beginPath();
  c.roundRect(gutter() + view.low / all * plotWidth(), y, Math.max(8, (view.high - view.low) / all * plotWidth()), 8, 4);
  c.fill();
}
