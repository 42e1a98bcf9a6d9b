// The run as objects, and which part of it is seen. Everything else draws from here.

const run = JSON.parse(document.getElementById('data').textContent);
const element = (id) => document.getElementById(id);

run.spans = run.spans.map(([rank, strand, lane, name, where, start, end, bytes, depth]) =>
  ({rank, strand, lane, name: run.names[name], where: run.names[where], start, end, bytes, depth}));
run.messages = run.messages.map(
  ([src, dst, tag, group, bytes, depth, label, where, start, sent, arrived]) =>
    ({src, dst, tag, group, bytes, depth, label: run.names[label], where: run.names[where],
      start, sent, arrived}));
const blocked = run.finding ? run.finding.waiting : [];

// What is blocked stays so: it is drawn to the right edge, a little after the last event.
const run_end = (run.end_s > 0 ? run.end_s : 1e-6) * (blocked.length ? 1.12 : 1);

const gutter = 74;      // pixels on the left, for the names of ranks
const axis_height = 24;
const view = {start: 0, end: run_end, width: 0, hovered: null, chain: new Set()};

const x_of = (time) =>
  gutter + (time - view.start) / (view.end - view.start) * (view.width - gutter - 12);
const time_of = (x) =>
  view.start + (x - gutter) / (view.width - gutter - 12) * (view.end - view.start);

// Shows [start, end], kept within the run and not narrower than a nanosecond.
function look_at(start, end) {
  const length = Math.min(Math.max(end - start, Math.min(1e-9, run_end)), run_end);
  view.start = Math.min(Math.max(0, start), run_end - length);
  view.end = view.start + length;
  draw();
}
function zoom(factor, around = (view.start + view.end) / 2) {
  look_at(around + (view.start - around) * factor, around + (view.end - around) * factor);
}
function move(part) {
  const by = part * (view.end - view.start);
  look_at(view.start + by, view.end + by);
}

let frame_asked = false;
function draw() {
  if (frame_asked) return;
  frame_asked = true;
  requestAnimationFrame(() => {
    frame_asked = false;
    draw_lanes();
    draw_series();
  });
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
let colors = {};
function read_colors() {
  for (const name of ['paper', 'panel', 'ink', 'muted', 'line', 'send', 'receive', 'collective',
    'waiting', 'blocked', 'arrow', 'chain', 'compute-0', 'compute-1', 'compute-2', 'compute-3',
    'compute-4']) {
    colors[name] = color(name);
  }
}

// The color of text that can be read on another color, "#rrggbb".
function ink_on(shade) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(shade.trim().slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#10141a' : '#ffffff';
}

// A canvas of so many pixels of the page, sharp on every screen; cleared.
function prepared(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext('2d');
  pen.scale(ratio, ratio);
  pen.fillStyle = colors.paper;
  pen.fillRect(0, 0, width, height);
  return pen;
}

// Times at round distances, and the unit in which they are short.
function ticks() {
  if (!(run.end_s > 0)) return [[0, '0 s']];  // nothing took any time
  const wanted = (view.end - view.start) / Math.max(2, (view.width - gutter) / 110);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= wanted);
  const [one, unit] = time_unit_of(view.end);
  const places = Math.max(0, -Math.floor(Math.log10(step / one) + 1e-9));
  const result = [];
  for (let i = Math.ceil(view.start / step); i * step <= view.end; ++i) {
    result.push([i * step, `${(i * step / one).toFixed(places)} ${unit}`]);
  }
  return result;
}
