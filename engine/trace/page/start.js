read_colors();
arrange_lanes();
show_head();
show_finding();
show_legend();
show_summary();
listen();
draw();
