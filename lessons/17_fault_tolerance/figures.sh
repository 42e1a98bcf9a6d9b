#!/bin/sh
# Regenerates this lesson's figures: calls.svg, the calls of a save and what loads after each; one_process.svg, boxes that
# four ranks wrote and one process reads.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" saving >/dev/null
"$build/bin/saving" calls | awk -f "$here/../chart.awk" -f "$here/calls.awk" >"$here/calls.svg"
awk -f "$here/../chart.awk" -f "$here/one_process.awk" </dev/null >"$here/one_process.svg"
