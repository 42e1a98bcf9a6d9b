#!/bin/sh
# Regenerates this lesson's figures from the engine's plans: each schedule on four stages, with eight micro-batches.
set -eu
here=$(cd "${0%/*}" && pwd)
build=$here/../../build/release
ninja -C "$build" schedules >/dev/null
"$build/bin/schedules" --svg gpipe 4 8 >"$here/gpipe.svg"
"$build/bin/schedules" --svg 1f1b 4 8 >"$here/1f1b.svg"
"$build/bin/schedules" --svg interleaved 4 8 2 >"$here/interleaved.svg"
"$build/bin/schedules" --svg zero-bubble 4 8 >"$here/zero_bubble.svg"
