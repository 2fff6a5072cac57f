// The tables of the page. A click on a head sorts a table.

// tableOf makes a table. Columns are {head, of, text, heat}; a column without text has words.
function tableOf(box, columns, rows, few) {
  box.classList.add('scroll');
  box.tabIndex = 0; // the keyboard scrolls it
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', box.parentElement.querySelector('h2').textContent + ', a table');
  let by = -1, down = true, all = false;
  const most = columns.map((c) => c.heat ? Math.max(1e-12, ...rows.map(c.of)) : 0);
  const show = () => {
    const sorted = rows.slice();
    if (by >= 0) {
      const of = columns[by].of;
      sorted.sort((x, y) => (of(x) < of(y) ? -1 : of(x) > of(y) ? 1 : 0) * (down ? -1 : 1));
    }
    const heads = columns.map((c, i) => {
      const button = el('button', '', c.head);
      button.addEventListener('click', () => { down = by === i ? !down : Boolean(c.text); by = i; show(); });
      const head = el('th', c.text ? '' : 'word', button);
      head.scope = 'col';
      if (c.tip) head.title = c.tip;
      if (by === i) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      return head;
    });
    const body = sorted.slice(0, all ? rows.length : few).map((r) => el('tr', '', ...columns.map((c, i) => {
      const cell = el('td', (c.text ? '' : 'word') + (c.heat ? ' heat' : ''), c.text ? c.text(c.of(r)) : c.of(r));
      if (!c.text) cell.title = c.of(r);
      if (c.client) cell.dataset.name = c.of(r);
      if (c.heat) cell.style.setProperty('--heat', 100 * c.of(r) / most[i] + '%');
      return cell;
    })));
    box.replaceChildren(el('table', '', el('thead', '', el('tr', '', ...heads)), el('tbody', '', ...body)));
    if (rows.length > few) {
      const button = el('button', '', all ? 'Show fewer' : 'Show all ' + count(rows.length));
      button.addEventListener('click', () => { all = !all; show(); });
      const last = el('p', '', button);
      last.style.marginTop = '10px';
      box.append(last);
    }
  };
  show();
}

const orNone = (ns) => ns < 0 ? '–' : span(ns);
const orNoShare = (share) => share < 0 ? '–' : percent(share);
const rate = (b) => { // bytes in a second
  const [unit, name] = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']].find(([u]) => b >= u) || [1, 'B'];
  const value = b / unit;
  return value.toFixed(unit > 1 && value < 100 ? value < 10 ? 2 : 1 : 0) + ' ' + name + '/s';
};
const zeroIsStep = (ns) => ns === 0 ? 'one step' : span(ns);
const left = (all, shown) => all > shown ? ' These are the ' + shown + ' most critical of ' + count(all) + '; metasim report --json has all.' : '';

function linkTable() {
  const rows = report.links || [];
  const body = section('links', 'main', 'Links', 'Declared and seen: the least delay, in simulated time. Held: how long clients waited behind ' +
    'the link; ends half: so much more delay would end half of that.' + left(data.all.links, rows.length));
  tableOf(body, [
    { client: true, tip: 'The client that sends', head: 'From', of: (l) => l.from },
    { client: true, tip: 'The client that subscribes', head: 'To', of: (l) => l.to },
    { tip: 'What the messages are about', head: 'Channel', of: (l) => l.channel },
    { tip: 'The least delay that the scenario gives the link, in simulated time: its lookahead', head: 'Declared', of: (l) => l.declared_delay_sim_ns, text: zeroIsStep },
    { tip: 'The least delay of any message, in simulated time. If it is much more than declared, declare more', head: 'Seen', of: (l) => l.observed_delay_sim_ns, text: orNone },
    { tip: 'How long clients waited with this link on the path to the client that they waited for', head: 'Held', of: (l) => l.held_s, text: seconds, heat: true },
    { tip: 'So much more delay would end half of Held, if no other link held the same clients', head: 'Ends half', of: (l) => l.more_delay_for_half_sim_ns, text: (ns) => ns < 0 ? '–' : '+' + span(ns) },
    { tip: 'The work on the critical path after this link, up to the next one', head: 'Critical', of: (l) => l.critical_s, text: seconds },
    { tip: 'How many messages were sent over the link', head: 'Messages', of: (l) => l.messages, text: count },
    { tip: 'The bytes of their payloads in a second of wall-clock time', head: 'Rate', of: (l) => l.bytes_per_s, text: rate },
    { tip: 'How many of them the link lost', head: 'Lost', of: (l) => l.lost, text: count },
    { tip: 'The reaction time that the sender declared, in simulated time', head: 'Reaction', of: (l) => l.declared_reaction_sim_ns, text: span },
    { tip: 'The least simulated time from a message that the sender handled to its next send on the channel', head: 'Reacted', of: (l) => l.observed_reaction_sim_ns, text: orNone },
  ], rows, 12);
}

function clientTable() {
  const rows = report.clients || [];
  const body = section('clients', 'main', 'Clients', 'Held: how long others waited for it. Critical: its work on the critical path. Promised: how much of ' +
    'the time in which it sent nothing it had promised.' + (report.core_wait_s > 0 ? ' No core: how long it waited for a core.' : '') +
    (report.memory_s > 0 ? ' Memory: of blocked, how long it waited for the slower ones to handle what was sent.' : '') + left(data.all.clients, rows.length));
  tableOf(body, [
    { client: true, tip: 'Point at a name to mark it everywhere', head: 'Client', of: (c) => c.name },
    ...(report.hosts ? [{ tip: 'Where it ran', head: 'Host', of: (c) => c.host || '' }] : []),
    { tip: 'How long it computed, without waiting for a core', head: 'Work', of: (c) => c.work_s, text: seconds },
    { tip: 'Work / the run', head: 'Busy', of: (c) => c.utilisation_share, text: percent },
    { tip: 'How long it waited to be authorized', head: 'Blocked', of: (c) => c.blocked_s, text: seconds, heat: true },
    ...(report.memory_s > 0 ? [{ tip: 'Of blocked: how long it waited for the slower ones to handle what was sent', head: 'Memory', of: (c) => c.memory_s, text: seconds, heat: true }] : []),
    ...(report.core_wait_s > 0 ? [{ tip: 'How long it waited for a core', head: 'No core', of: (c) => c.core_wait_s, text: seconds, heat: true }] : []), { tip: 'How long others waited for it, summed over them', head: 'Held', of: (c) => c.held_s, text: seconds, heat: true },
    { tip: 'Its work on the critical path. Twice as fast, it saves at most half of that', head: 'Critical', of: (c) => c.critical_s, text: seconds, heat: true },
    { tip: 'How often it was authorized when it asked', head: 'Grants', of: (c) => c.grants, text: count },
    { tip: 'How long half of its steps took at most', head: 'p50', of: (c) => c.step_p50_s, text: seconds },
    { tip: 'How long 99 of 100 steps took at most', head: 'p99', of: (c) => c.step_p99_s, text: seconds },
    { tip: 'How many messages it sent', head: 'Sends', of: (c) => c.sends, text: count }, { tip: 'How many messages it was given', head: 'Delivered', of: (c) => c.delivered, text: count },
    { tip: 'How much of the simulated time up to its next send each report promised, on average', head: 'Promised', of: (c) => c.sends ? c.promised_share : -1, text: orNoShare },
    { tip: 'The same, with what it promised unless a message came', head: 'Announced', of: (c) => c.sends ? c.announced_share : -1, text: orNoShare },
  ], rows, 12);
}

// hostTables say which host waited for which. There are none where all was on one host.
function hostTables() {
  const hosts = report.hosts || [], pairs = report.host_blame || [];
  if (!hosts.length) return;
  const trip = (s) => s > 0 ? seconds(s) : '–';
  tableOf(section('hosts', 'main', 'Hosts', 'There and back: the least time in which the host answered metasim. Held: how long clients on other hosts waited for its clients.'), [
    { head: 'Host', of: (h) => h.name },
    { tip: 'How many clients ran there', head: 'Clients', of: (h) => h.clients.length, text: count },
    { tip: 'Over the network, ssh or srun, and the processes on the way', head: 'There and back', of: (h) => h.round_trip_s, text: trip },
    { tip: 'How long its clients computed', head: 'Work', of: (h) => h.work_s, text: seconds },
    { tip: 'How long its clients waited to be authorized', head: 'Blocked', of: (h) => h.blocked_s, text: seconds, heat: true },
    { tip: 'How long clients on other hosts waited for its clients', head: 'Held', of: (h) => h.held_away_s, text: seconds, heat: true },
  ], hosts, 12);
  if (!pairs.length) return;
  tableOf(section('host-pairs', 'main', 'Which host waited for which', 'Summed over clients. What clients of two hosts say to one another goes through metasim, so both times count.'), [
    { head: 'Waiting', of: (b) => b.waiting || 'outside' }, { head: 'For', of: (b) => b.held_by || 'outside' },
    { tip: 'How long clients of the one waited for clients of the other', head: 'Time', of: (b) => b.blocked_s, text: seconds, heat: true },
    { tip: 'The sum over its clients, / the run: so it may be more than the whole', head: 'Of the run', of: (b) => b.blocked_s / (report.wall_s || 1), text: percent },
    { tip: 'From metasim to both hosts and back', head: 'There and back', of: (b) => b.round_trip_s, text: trip },
  ], pairs, 12);
}

// foot says what the page leaves out.
function foot() {
  const all = data.all, shown = messages.length;
  const texts = [all.pieces < all.grants - all.dropped_grants ? count(all.grants) + ' grants are drawn as ' + plural(all.pieces, 'piece') + '.' : 'Every grant is drawn.'];
  if (all.dropped_grants > 0) texts.push('The timeline ends before the run: ' + count(all.dropped_grants) + ' more grants are in the numbers alone.');
  if (shown < all.messages) texts.push(count(shown) + ' of ' + count(all.messages) + ' messages have an arrow.');
  texts.push('This page needs nothing but itself.');
  $('#foot').textContent = texts.join(' ');
}

breakdown();
legend();
choose();
if (startEnd > 0.25 * data.wall_ns && startEnd < data.wall_ns) look(startEnd, data.wall_ns);
tell(null);
blame();
usage();
whatIf();
cores();
advice();
linkTable();
clientTable();
hostTables();
foot();
document.documentElement.dataset.drawn = 'yes';
