// The tables of the page. A click on a head sorts a table.

// tableOf makes a table. Columns are {head, of, text, heat}; a column without text has words.
function tableOf(box, columns, rows, few) {
  box.classList.add('scroll');
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
      if (by === i) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      return head;
    });
    const body = sorted.slice(0, all ? rows.length : few).map((r) => el('tr', '', ...columns.map((c, i) => {
      const cell = el('td', (c.text ? '' : 'word') + (c.heat ? ' heat' : ''), c.text ? c.text(c.of(r)) : c.of(r));
      if (!c.text) cell.title = c.of(r);
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
const zeroIsStep = (ns) => ns === 0 ? 'one step' : span(ns);
const left = (all, shown) => all > shown ? ' These are the ' + shown + ' most critical of ' + count(all) + '; metasim report --json has all.' : '';

function linkTable() {
  const rows = report.links || [];
  const body = section('links', 'main', 'Links', 'Declared and seen: the least delay, in simulated time. Held: how long clients waited behind ' +
    'the link; ends half: so much more delay would end half of that.' + left(data.all.links, rows.length));
  tableOf(body, [
    { head: 'From', of: (l) => l.from }, { head: 'To', of: (l) => l.to }, { head: 'Channel', of: (l) => l.channel },
    { head: 'Declared', of: (l) => l.declared_delay_sim_ns, text: zeroIsStep }, { head: 'Seen', of: (l) => l.observed_delay_sim_ns, text: orNone },
    { head: 'Held', of: (l) => l.held_s, text: seconds, heat: true },
    { head: 'Ends half', of: (l) => l.more_delay_for_half_sim_ns, text: (ns) => ns < 0 ? '–' : '+' + span(ns) }, { head: 'Critical', of: (l) => l.critical_s, text: seconds },
    { head: 'Messages', of: (l) => l.messages, text: count }, { head: 'Lost', of: (l) => l.lost, text: count },
    { head: 'Reaction', of: (l) => l.declared_reaction_sim_ns, text: span }, { head: 'Reacted', of: (l) => l.observed_reaction_sim_ns, text: orNone },
  ], rows, 12);
}

function clientTable() {
  const rows = report.clients || [];
  const body = section('clients', 'main', 'Clients', 'Held: how long others waited for it. Critical: its work on the critical path. Promised: how much of ' +
    'the time in which it sent nothing it had promised.' + (report.core_wait_s > 0 ? ' No core: how long it waited for a core.' : '') + left(data.all.clients, rows.length));
  tableOf(body, [
    { head: 'Client', of: (c) => c.name }, { head: 'Work', of: (c) => c.work_s, text: seconds }, { head: 'Busy', of: (c) => c.utilisation_share, text: percent },
    { head: 'Blocked', of: (c) => c.blocked_s, text: seconds, heat: true },
    ...(report.core_wait_s > 0 ? [{ head: 'No core', of: (c) => c.core_wait_s, text: seconds, heat: true }] : []), { head: 'Held', of: (c) => c.held_s, text: seconds, heat: true },
    { head: 'Critical', of: (c) => c.critical_s, text: seconds, heat: true }, { head: 'Grants', of: (c) => c.grants, text: count },
    { head: 'Sends', of: (c) => c.sends, text: count }, { head: 'Delivered', of: (c) => c.delivered, text: count },
    { head: 'Promised', of: (c) => c.promised_share, text: percent }, { head: 'Announced', of: (c) => c.announced_share, text: percent },
  ], rows, 12);
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
tell(null);
blame();
usage();
whatIf();
cores();
advice();
linkTable();
clientTable();
foot();
document.documentElement.dataset.drawn = 'yes';
