// Figures over time, below the lanes and on the same scale: a line for each rank.

const chart_height = 74;

// How many bytes of messages are on their way: known from the messages themselves.
function bytes_on_the_way() {
  const changes = [];
  for (const m of run.messages) changes.push([m.start, m.bytes], [m.arrived, -m.bytes]);
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let bytes = 0;
  const samples = [[0, 0]];
  for (const [time, change] of changes) {
    bytes += change;
    if (samples[samples.length - 1][0] === time) samples.pop();
    samples.push([time, bytes]);
  }
  return {name: 'on the way', unit: 'bytes', lines: [{rank: -1, samples}]};
}

function all_charts() {
  const charts = [];
  for (const one of run.series) {
    let chart = charts.find((c) => c.name === one.name);
    if (!chart) charts.push(chart = {name: one.name, unit: one.unit, lines: []});
    chart.lines.push({rank: one.rank, samples: one.samples});
  }
  if (run.messages.some((m) => m.bytes > 0)) charts.push(bytes_on_the_way());
  for (const chart of charts) {
    chart.most = Math.max(...chart.lines.map(
      (line) => line.samples.reduce((most, [, value]) => Math.max(most, value), 0)), 1e-30);
  }
  return charts.slice(0, 4);
}
const charts = all_charts();

function draw_line(pen, line, y_of, bottom, filled) {
  pen.beginPath();
  let last = null;
  for (const [time, value] of line.samples) {
    const x = x_of(time);
    if (last === null) {
      pen.moveTo(x, y_of(value));
    } else {
      pen.lineTo(x, y_of(last));
      pen.lineTo(x, y_of(value));
    }
    last = value;
  }
  if (last === null) return;
  pen.lineTo(x_of(run_end), y_of(last));
  pen.stroke();
  if (!filled) return;
  pen.lineTo(x_of(run_end), bottom);
  pen.lineTo(x_of(line.samples[0][0]), bottom);
  pen.globalAlpha = 0.16;
  pen.fill();
  pen.globalAlpha = 1;
}

function draw_series() {
  const canvas = element('series');
  canvas.hidden = charts.length === 0;
  if (canvas.hidden) return;
  const pen = prepared(canvas, view.width + 2, charts.length * chart_height);
  const chosen = view.hovered ? view.hovered.rank ?? view.hovered.message?.src : undefined;
  charts.forEach((chart, i) => {
    const top = i * chart_height + 12;
    const bottom = (i + 1) * chart_height - 6;
    const y_of = (value) => bottom - value / chart.most * (bottom - top);
    pen.save();
    pen.beginPath();
    pen.rect(gutter, top - 2, view.width - gutter, bottom - top + 4);
    pen.clip();
    const filled = chart.lines.length === 1;
    for (const line of chart.lines) {
      const lit = filled || line.rank === chosen;
      pen.strokeStyle = pen.fillStyle = colors['compute-0'];
      pen.lineWidth = lit ? 1.8 : 1;
      pen.globalAlpha = lit ? 1 : 0.45;
      draw_line(pen, line, y_of, bottom, filled);
      pen.globalAlpha = 1;
    }
    pen.restore();
    pen.fillStyle = colors.line;
    pen.fillRect(0, (i + 1) * chart_height - 1, view.width + 2, 1);
    pen.fillStyle = colors.ink;
    pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
    pen.fillText(chart.name, 10, top + 8, gutter - 14);
    pen.fillStyle = colors.muted;
    pen.fillText(value_text(chart.most, chart.unit), 10, top + 24, gutter - 14);
  });
}
