#!/bin/sh
# Draws what a command leaves on a terminal: terminal.sh COLUMNS LINES 'COMMAND' >picture.svg
# Needs tmux. The pictures of the README are made with
#   docs/pictures/terminal.sh 110 68 './lab start' >docs/pictures/start.svg
set -eu
columns=$1 lines=$2 command=$3
here=$(cd "${0%/*}" && pwd)
socket=lockstep-picture-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null || true' EXIT
tmux -L "$socket" -f /dev/null new-session -d -x "$columns" -y "$lines" \
  "unset NO_COLOR; printf '\033[1m\$ %s\033[0m\n' '$command'; $command; tmux -L $socket wait-for -S done; sleep 60"
tmux -L "$socket" set -g status off
tmux -L "$socket" wait-for done
tmux -L "$socket" capture-pane -e -p | awk -v columns="$columns" -f "$here/ansi_to_svg.awk"
