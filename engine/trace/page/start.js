read_colors();
arrange_lanes();
show_head();
show_finding();
show_legend();
show_summary();
listen();
// run.html#0.15-0.2 opens at these seconds.
const [from, to] = location.hash.slice(1).split('-').map(Number);
if (to > from) look_at(from, to); else draw();
