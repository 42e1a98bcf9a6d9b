#!/bin/sh
# Regenerates setting_up.svg from three real runs of four ranks: one starts late; rank 0, which serves
# the store, starts late; one never starts.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" setting-up lockstep-run >/dev/null
run() {  # CASE WHO LATE_MS TIMEOUT_MS
  "$build/bin/lockstep-run" --ranks 4 --prefix none -- "$build/bin/setting-up" "$@" 2>/dev/null
}
{
  echo "case 1 rank 2 starts one second late; the launcher serves the store"
  run launcher 2 1000 5000
  echo "case 2 rank 0 starts one second late, and serves the store itself"
  run rank0 0 1000 5000
  echo "case 3 rank 2 never starts; the deadline is 1.5 seconds"
  run launcher 2 -1 1500
} | awk -f "$here/../chart.awk" -f "$here/setting_up.awk" >"$here/setting_up.svg"
