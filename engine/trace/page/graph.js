// The wait-for graph of a run that stopped: who waits for whom, in which operation, at which line.
// A cycle stands on a circle, in its order; who only waits for it stands outside.

const boxes_max = 12;
const box = {width: 172, height: 58};

function svg(name, attributes, parent, text) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

// "ring.cpp:21": the folders stand in the table.
const file_of = (where) => where.slice(where.lastIndexOf('/') + 1);
const short = (text, length) => text.length > length ? `…${text.slice(1 - length)}` : text;

// The nodes: the ranks that the finding names, then who waits for one of them, then the others that
// wait, as many as can be looked at. A rank that does not wait has none of its own to show.
function nodes_of(finding) {
  const named = new Set(finding.ranks);
  const place = (wait) => wait.waits_for.some((rank) => named.has(rank)) ? 0 : 1;
  const others = finding.waiting.filter((wait) => !named.has(wait.rank));
  others.sort((a, b) => place(a) - place(b) || a.rank - b.rank || a.strand - b.strand);
  const nodes = [];
  for (const rank of finding.ranks) {
    const waits = finding.waiting.filter((wait) => wait.rank === rank);
    nodes.push(...(waits.length ? waits.map((wait) => ({rank, wait})) : [{rank, wait: null}]));
  }
  nodes.push(...others.map((wait) => ({rank: wait.rank, wait})));
  nodes.length = Math.min(nodes.length, boxes_max);
  for (const {wait} of [...nodes]) {
    for (const rank of wait ? wait.waits_for : []) {
      if (nodes.length < boxes_max && !nodes.some((node) => node.rank === rank)) {
        nodes.push({rank, wait: null});
      }
    }
  }
  return nodes;
}

// A deadlock whose ranks wait for one another in turn.
function cycle_of(finding) {
  const next = (rank, after) => finding.waiting.some(
    (wait) => wait.rank === rank && wait.waits_for.includes(after));
  const ranks = finding.ranks;
  const closed = ranks.length > 1 &&
    ranks.every((rank, i) => next(rank, ranks[(i + 1) % ranks.length]));
  return closed ? ranks : [];
}

function place_nodes(nodes, cycle) {
  const inner = nodes.filter((node) => cycle.includes(node.rank) || cycle.length === 0);
  const outer = nodes.filter((node) => !inner.includes(node));
  const around = (list, rx, ry, turn) => list.forEach((node, i) => {
    const angle = turn + 2 * Math.PI * i / list.length;
    node.x = rx * Math.cos(angle);
    node.y = ry * Math.sin(angle);
  });
  const step = inner.length < 3 ? 130 : Math.max(130, inner.length * 33);
  const from = inner.length === 2 ? Math.PI : -Math.PI / 2;
  around(inner, inner.length === 1 ? 0 : step * 1.25, inner.length < 3 ? 0 : step * 0.85, from);
  const far = Math.max(step + 130, outer.length * 24);
  around(outer, far * 1.3, inner.length < 3 ? far * 0.6 : far * 0.85, Math.PI / 6);
}

// From border to border, bent a little to the right so that two that face each other are seen.
function edge_path(from, to) {
  const bend = 0.16;
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const middle = {x: (from.x + to.x) / 2 - dy * bend, y: (from.y + to.y) / 2 + dx * bend};
  const border = (node) => {
    const [x, y] = [middle.x - node.x, middle.y - node.y];
    const scale = Math.min((box.width / 2 + 4) / (Math.abs(x) || 1e-9),
      (box.height / 2 + 4) / (Math.abs(y) || 1e-9));
    return `${node.x + x * scale} ${node.y + y * scale}`;
  };
  return `M ${border(from)} Q ${middle.x} ${middle.y} ${border(to)}`;
}

function draw_edges(picture, nodes, cycle) {
  for (const from of nodes) {
    for (const rank of from.wait ? from.wait.waits_for : []) {
      const to = nodes.find((node) => node.rank === rank);
      if (!to || to === from) continue;
      const at = cycle.indexOf(from.rank);
      const closes = at >= 0 && cycle[(at + 1) % cycle.length] === rank;
      svg('path', {d: edge_path(from, to), class: closes ? 'cycle' : '',
        'marker-end': closes ? 'url(#head-cycle)' : 'url(#head)'}, picture);
    }
  }
}

function draw_boxes(picture, nodes, involved) {
  for (const node of nodes) {
    const kind = (node.wait ? '' : 'gone ') + (involved.includes(node.rank) ? 'cycle' : '');
    const group = svg('g', {class: kind, transform: `translate(${node.x} ${node.y})`}, picture);
    svg('rect', {x: -box.width / 2, y: -box.height / 2, width: box.width, height: box.height, rx: 6},
      group);
    svg('text', {y: -11, class: 'who'}, group, node.wait ? short(node.wait.who, 20) : `rank ${node.rank}`);
    svg('text', {y: 6, class: 'what'}, group, node.wait ? short(node.wait.operation, 24) : 'does not wait');
    svg('text', {y: 21, class: 'place'}, group, node.wait ? short(file_of(node.wait.where), 27) : '');
  }
}

function draw_graph(finding) {
  const picture = element('graph');
  const nodes = nodes_of(finding);
  const cycle = cycle_of(finding);
  place_nodes(nodes, cycle);
  const [xs, ys] = [nodes.map((node) => node.x), nodes.map((node) => node.y)];
  const left = Math.min(...xs) - box.width / 2 - 12, top = Math.min(...ys) - box.height / 2 - 22;
  picture.setAttribute('viewBox', `${left} ${top} ` +
    `${Math.max(...xs) + box.width / 2 + 12 - left} ${Math.max(...ys) + box.height / 2 + 22 - top}`);
  const defs = svg('defs', {}, picture);
  for (const kind of ['', 'cycle']) {
    const head = svg('marker', {id: kind ? 'head-cycle' : 'head', class: kind, viewBox: '0 0 8 8',
      refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse',
      orient: 'auto'}, defs);
    svg('path', {d: 'M 0 0.5 L 8 4 L 0 7.5 z'}, head);
  }
  draw_edges(picture, nodes, cycle);
  draw_boxes(picture, nodes, finding.ranks);
  return {nodes, cycle};
}

function show_finding() {
  const finding = run.finding;
  if (!finding) return;
  element('finding').hidden = false;
  element('verdict').textContent = finding.verdict;
  const head = `${finding.verdict}: `;
  element('sentence').textContent =
    finding.message.startsWith(head) ? finding.message.slice(head.length) : finding.message;
  element('waits').hidden = finding.waiting.length === 0;
  if (finding.waiting.length === 0) return;
  const {nodes, cycle} = draw_graph(finding);
  const waits = nodes.map((node) => node.wait).filter(Boolean);
  fill_table(element('waiting'), ['rank', 'waits in', '', 'at', 'since'],
    waits.map((wait) => [wait.who, wait.operation, wait.details,
      wait.where.replace(/\//g, '/\u200b'),  // a long path breaks at its folders
      time_text(wait.since_s)]), 4);
  [...element('waiting').tBodies[0].rows].forEach((row, i) => {
    if (cycle.includes(waits[i].rank)) row.className = 'cycle';
  });
  const more = finding.waiting.length - waits.length;
  if (more > 0) element('sentence').textContent += ` (${count_text(more)} more ranks wait and are not drawn)`;
}
