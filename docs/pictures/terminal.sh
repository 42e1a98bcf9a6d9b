#!/bin/sh
# Draws what a command leaves on a terminal, or what it shows after SECONDS, if it does not end:
#   terminal.sh COLUMNS LINES 'COMMAND' [SECONDS] >picture.svg
# Needs tmux. The pictures of the README are made with
#   docs/pictures/terminal.sh 110 51 './lab start' >docs/pictures/start.svg
# and, with lessons/00_the_lab/second_try/03_collectives/exchange.cpp as the one in work/,
#   docs/pictures/terminal.sh 110 27 './lab watch exchange' 9 >docs/pictures/watch.svg
set -eu
columns=$1 lines=$2 command=$3 seconds=${4:-}
here=$(cd "${0%/*}" && pwd)
socket=lockstep-picture-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null || true' EXIT
tmux -L "$socket" -f /dev/null new-session -d -x "$columns" -y "$lines" \
  "unset NO_COLOR; printf '\033[1m\$ %s\033[0m\n' '$command'; $command; tmux -L $socket wait-for -S done; sleep 60"
tmux -L "$socket" set -g status off
if [ -n "$seconds" ]; then sleep "$seconds"; else tmux -L "$socket" wait-for done; fi
tmux -L "$socket" capture-pane -e -p | awk -v columns="$columns" -f "$here/ansi_to_svg.awk"
