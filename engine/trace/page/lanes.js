// The lanes: for each rank what it computes, what it sends and receives, what it waits for.

// Where a rank's lanes lie below its top. Lanes that no rank uses take no room; a lane in which
// things overlap has several tracks.
const lanes = {compute: [], collective: [], out: [], in: [], waiting: []};
const heights = run.ranks > 24
  ? {compute: 10, collective: 8, out: 5, in: 5, waiting: 3, gap: 5}
  : {compute: 22, collective: 16, out: 9, in: 9, waiting: 6, gap: 12};
const tracks_max = 4;
const layout = {};
let row_height = 0;
if (blocked.length) heights.waiting = Math.max(heights.waiting, run.ranks > 24 ? 8 : 17);

// Puts what overlaps into further tracks, the first that is free.
function assign_tracks(items) {
  const free_at = [];
  items.sort((a, b) => a.start - b.start);
  for (const item of items) {
    let track = free_at.findIndex((end) => end <= item.start + 1e-15);
    if (track < 0) track = free_at.length < tracks_max ? free_at.length : tracks_max - 1;
    free_at[track] = Math.max(free_at[track] ?? 0, item.end);
    item.track = track;
  }
  return free_at.length;
}

function arrange_lanes() {
  for (const lane in lanes) lanes[lane] = Array.from({length: run.ranks}, () => []);
  const of_span = ['compute', 'collective', 'waiting'];
  for (const span of run.spans) lanes[of_span[span.lane]][span.rank].push(span);
  for (const wait of blocked) {
    lanes.waiting[wait.rank].push({rank: wait.rank, strand: wait.strand, name: wait.operation,
      where: wait.where, start: wait.since_s, end: run_end, bytes: 0, blocked: true});
  }
  for (const message of run.messages) {
    lanes.out[message.src].push({message, start: message.start, end: message.sent});
    lanes.in[message.dst].push({message, start: message.start, end: message.arrived});
  }
  let top = 0;
  for (const lane in lanes) {
    let tracks = 0;
    for (const items of lanes[lane]) tracks = Math.max(tracks, assign_tracks(items));
    layout[lane] = {top, tracks};
    top += tracks * (heights[lane] + 1);
  }
  row_height = Math.max(top, 12) + heights.gap;
}

const row_top = (rank) => axis_height + heights.gap / 2 + rank * row_height - element('frame').scrollTop;
const lane_top = (rank, lane, track = 0) =>
  row_top(rank) + layout[lane].top + track * (heights[lane] + 1);

// "backward 3" and "backward 4" are of one color.
const kind_of = (name) => name.replace(/[\d.]+/g, '').replace(/\s+/g, ' ').trim();
const kinds = [...new Set(run.spans.filter((s) => s.lane === 0).map((s) => kind_of(s.name)))];
const compute_color = (name) => colors[`compute-${kinds.indexOf(kind_of(name)) % 5}`];

function color_of(lane, item) {
  if (lane === 'compute') return compute_color(item.name);
  if (lane === 'waiting') return item.blocked ? colors.blocked : colors.waiting;
  return colors[{collective: 'collective', out: 'send', in: 'receive'}[lane]];
}

function draw_lane(pen, rank, lane) {
  const height = heights[lane];
  let drawn_to = [];  // by track: what is narrower than a pixel is drawn once a pixel
  for (const item of lanes[lane][rank]) {
    if (item.end < view.start || item.start > view.end) continue;
    const left = Math.max(x_of(item.start), gutter);
    const right = Math.min(x_of(item.end), view.width);
    if (right < (drawn_to[item.track] ?? 0) + 0.4) continue;
    drawn_to[item.track] = right;
    const y = lane_top(rank, lane, item.track);
    pen.fillStyle = color_of(lane, item);
    const width = Math.max(right - left - (right - left > 3 ? 0.8 : 0), 0.6);
    pen.fillRect(left, y, width, height);
    const lit = item === view.hovered || (item.message && view.chain.has(item.message));
    if (lit) {
      pen.strokeStyle = item.message ? colors.chain : colors.ink;
      pen.lineWidth = 1.6;
      pen.strokeRect(left, y, width, height);
    }
    const label = item.message ? '' : item.name;
    if (height >= 14 && width > 26 && label) {
      pen.save();
      pen.beginPath();
      pen.rect(left, y, width - 3, height);
      pen.clip();
      pen.fillStyle = ink_on(color_of(lane, item));
      pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
      pen.fillText(label, left + 5, y + height / 2 + 4);
      pen.restore();
    }
  }
}

const arrows_max = 5000;

function ends_of(message) {
  return {x1: x_of(message.start), y1: lane_top(message.src, 'out') + heights.out / 2,
    x2: x_of(message.arrived), y2: lane_top(message.dst, 'in') + heights.in / 2};
}

function visible_messages(height) {
  const on_screen = (rank) => row_top(rank) + row_height > 0 && row_top(rank) < height;
  return run.messages.filter((m) => m.arrived >= view.start && m.start <= view.end &&
    (on_screen(m.src) || on_screen(m.dst)));
}

function draw_arrow(pen, message, lit) {
  const {x1, y1, x2, y2} = ends_of(message);
  pen.strokeStyle = pen.fillStyle = lit ? colors.chain : colors.arrow;
  pen.lineWidth = lit ? 2 : 0.9;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const size = lit ? 8 : 5.5;
  if (Math.hypot(x2 - x1, y2 - y1) < 2 * size) return;
  pen.beginPath();
  pen.moveTo(x2, y2);
  pen.lineTo(x2 - size * Math.cos(angle - 0.35), y2 - size * Math.sin(angle - 0.35));
  pen.lineTo(x2 - size * Math.cos(angle + 0.35), y2 - size * Math.sin(angle + 0.35));
  pen.fill();
}

function draw_arrows(pen, height) {
  const messages = visible_messages(height);
  if (messages.length <= arrows_max) {
    pen.globalAlpha = messages.length > 1200 ? 0.25 : messages.length > 300 ? 0.4 : 0.6;
    for (const message of messages) draw_arrow(pen, message, false);
    pen.globalAlpha = 1;
  }
  for (const message of view.chain) draw_arrow(pen, message, true);
}

function draw_axis(pen, height) {
  pen.fillStyle = colors.paper;
  pen.fillRect(0, 0, view.width, axis_height);
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  pen.textAlign = 'center';
  for (const [time, label] of ticks()) {
    pen.fillStyle = colors.muted;
    pen.fillText(label, Math.min(Math.max(x_of(time), gutter + 8), view.width - 28), 15);
  }
  pen.textAlign = 'left';
  pen.fillStyle = colors.line;
  pen.fillRect(0, axis_height - 1, view.width, 1);
}

function draw_grid(pen, height) {
  pen.fillStyle = colors.line;
  for (const [time] of ticks()) pen.fillRect(Math.round(x_of(time)), axis_height, 1, height);
}

function draw_gutter(pen, first, last) {
  pen.fillStyle = colors.paper;
  pen.fillRect(0, 0, gutter - 1, pen.canvas.height);
  const involved = new Set(run.finding ? run.finding.ranks : []);
  pen.font = `${row_height < 16 ? 10 : 12}px system-ui, "DejaVu Sans", sans-serif`;
  for (let rank = first; rank <= last; ++rank) {
    pen.fillStyle = involved.has(rank) ? colors.blocked : colors.ink;
    pen.fillText(`rank ${rank}`, 10, row_top(rank) + (row_height - heights.gap) / 2 + 4);
  }
}

function draw_lanes() {
  const frame = element('frame');
  const all = axis_height + run.ranks * row_height + heights.gap / 2;
  const height = Math.min(all, Math.round(window.innerHeight * 0.68));
  view.width = frame.clientWidth;
  element('room').style.height = `${all - height}px`;
  const pen = prepared(element('lanes'), view.width, height);
  draw_grid(pen, height);
  const first = Math.max(0, Math.floor((frame.scrollTop - axis_height) / row_height));
  const last = Math.min(run.ranks - 1, Math.ceil((frame.scrollTop + height) / row_height));
  for (let rank = first; rank <= last; ++rank) {
    for (const lane in lanes) draw_lane(pen, rank, lane);
    pen.fillStyle = colors.line;
    pen.fillRect(0, row_top(rank) + row_height - heights.gap / 2, view.width, 0.5);
  }
  draw_arrows(pen, height);
  draw_gutter(pen, first, last);
  draw_axis(pen, height);
}
