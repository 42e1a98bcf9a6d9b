// The head of the page, the legend, and the sums of every rank.

const rows_max = 64;

// The first `words` columns are texts, the others numbers. A cell is a text or an element.
function fill_table(table, heads, rows, words) {
  const row_of = (cells, kind) => {
    const row = document.createElement('tr');
    cells.forEach((cell, i) => {
      const node = document.createElement(kind);
      if (i < words) node.className = 'word';
      node.append(cell);
      row.append(node);
    });
    return row;
  };
  const head = document.createElement('thead');
  head.append(row_of(heads, 'th'));
  const body = document.createElement('tbody');
  body.append(...rows.map((row) => row_of(row, 'td')));
  table.replaceChildren(head, body);
}

function with_share(seconds) {
  const cell = document.createElement('span');
  const part = document.createElement('small');
  part.textContent = percent_text(seconds, run.end_s);
  cell.append(time_text(seconds), part);
  return cell;
}

// Computing, then communication that nothing hides; the rest of the run is empty.
function share_bar(rank) {
  const bar = document.createElement('div');
  for (const [part, name] of [[rank.compute_s, '--compute-0'], [rank.exposed_s, '--send']]) {
    const piece = document.createElement('span');
    piece.style.background = `var(${name})`;
    piece.style.width = `${100 * part / (run.end_s || 1)}%`;
    bar.append(piece);
  }
  return bar;
}

function show_summary(rows_shown = rows_max) {
  const share = (field) => (r) => with_share(r[field]);
  const count = (field) => (r) => count_text(r[field]);
  const bytes = (field) => (r) => bytes_text(r[field]);
  const columns = [
    ['rank', 'rank', (r) => `rank ${r.rank}`], ['', 'rank', share_bar],
    ['computing', 'compute_s', share('compute_s')],
    ['communicating', 'communication_s', share('communication_s')],
    ['of it exposed', 'compute_s', share('exposed_s')],
    ['waiting', 'waiting_s', share('waiting_s')],
    ['messages sent', 'messages_sent', count('messages_sent')],
    ['sent', 'bytes_sent', bytes('bytes_sent')], ['received', 'bytes_received', bytes('bytes_received')],
    ['in collectives', 'collective_bytes', bytes('collective_bytes')]];
  const used = columns.filter(([, field]) => field === 'rank' || run.summary.some((r) => r[field] > 0));
  if (used.length === 2) return;  // nothing that could be summed up
  const shown = run.summary.slice(0, rows_shown);
  fill_table(element('summary'), used.map(([name]) => name),
    shown.map((rank) => used.map(([, , cell]) => cell(rank))), 1);
  for (const row of element('summary').rows) row.cells[1].classList.add('share');
  element('notes').textContent = run.summary.some((r) => r.compute_s > 0 && r.communication_s > 0)
    ? 'Exposed: communicating while the rank does not compute. ' +
      'Overlap: 1 − exposed / communicating, over all ranks.' : '';
  if (shown.length < run.summary.length) {
    const more = document.createElement('button');
    more.textContent = `all ${run.ranks} ranks`;
    more.onclick = () => show_summary(run.summary.length);
    element('notes').append(' ', more);
  }
}

function show_head() {
  element('title').textContent = run.title;
  element('of_messages').hidden = run.messages.length === 0;
  element('facts').textContent = run.facts.map(([what, value]) => `${what}: ${value}`).join(' · ');
  const sent = run.messages.reduce((sum, m) => sum + m.bytes, 0);
  const depth = run.messages.reduce((most, m) => Math.max(most, m.depth), 0);
  const figures = [[run.clock === 'wall' ? 'wall time' : 'virtual time', time_text(run.end_s)],
    ['ranks', count_text(run.ranks)]];
  if (run.messages.length) {
    figures.push(['messages', count_text(run.messages.length)], ['sent', bytes_text(sent)]);
  }
  if (depth) figures.push(['depth', `${depth} messages`]);
  if (run.summary.some((r) => r.compute_s > 0 && r.communication_s > 0)) {
    figures.push(['overlap', `${digits(100 * run.overlap, 3)} %`]);
  }
  if (run.left_out) figures.push(['not shown', `${count_text(run.left_out)} events`]);
  for (const [name, value] of figures) {
    const pair = document.createElement('div');
    const [dt, dd] = [document.createElement('dt'), document.createElement('dd')];
    dt.textContent = name;
    dd.textContent = value;
    pair.append(dt, dd);
    element('figures').append(pair);
  }
}

function show_legend() {
  const entries = kinds.slice(0, 5).map((kind) => [kind || 'compute', compute_color(kind)]);
  if (run.spans.some((s) => s.lane === 1)) entries.push(['communication', colors.collective]);
  if (run.messages.length) entries.push(['sends', colors.send], ['receives', colors.receive]);
  if (run.spans.some((s) => s.lane === 2)) entries.push(['waiting', colors.waiting]);
  if (blocked.length) entries.push(['waits for ever', colors.blocked]);
  element('legend').replaceChildren(...entries.map(([name, shade]) => {
    const item = document.createElement('li');
    const swatch = document.createElement('i');
    swatch.style.background = shade;
    item.append(swatch, name);
    return item;
  }));
}
