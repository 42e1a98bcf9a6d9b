#!/bin/sh
# A page as a picture; a timeline if need be from one second to another, others from one of their places:
#   page.sh PAGE.html WIDTH HEIGHT PICTURE.png [FROM-TO|PLACE]
# Light, or with SCHEME=dark as on a system that is dark. Needs chromium and pngquant. The pictures here are made with
#   ./lab sim --ranks 8 --count 65536 ring_all_reduce --trace ring.html
#   page.sh ring.html 1200 640 ring.png
#   gpt="--model gpt --layers 12 --width 1024 --heads 16 --sequence 1024 --vocab 32000 --batch-size 8"
#   run="--backend sim --sizes-only --cluster ethernet --ranks 8 --steps 3"
#   ./lab train $run $gpt --bucket-mb 50 --trace ddp.html
#   page.sh ddp.html 1200 780 overlap.png 1.5-2.2
#   ./lab train $run $gpt --no-overlap --trace ddp.html
#   page.sh ddp.html 1200 780 no_overlap.png 1.61-2.41
# and, with a ring in work/ whose ranks all send before they receive,
#   ./lab check ring_all_reduce --case 20; ./lab trace ring_all_reduce --out deadlock.html
#   page.sh deadlock.html 1200 740 deadlock.png
# and of the site, after ./lab docs, from the place of a page that a link in its table of contents names,
#   page.sh build/docs/html/lesson_06.html 1280 1000 site.png autotoc_md…
#   page.sh build/docs/html/kill_matrix.html 1280 1000 kill_matrix.png autotoc_md…
# and of a class of 48, graded by ./lab grade --format html,
#   page.sh grades/overview.html 1080 1000 overview_light.png
#   SCHEME=dark page.sh grades/overview.html 1080 1000 overview_dark.png
#   page.sh grades/students/NAME.html 1080 694 student_light.png
set -eu
case ${SCHEME:-light} in dark) scheme=0 ;; *) scheme=1 ;; esac   # as chromium counts them
page=$(realpath "$1") width=$2 height=$3 picture=$4 part=${5:-}
shot=$(mktemp -d)
trap 'rm -rf "$shot"' EXIT
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=2000 \
  --blink-settings="preferredColorScheme=$scheme" --window-size="$width,$height" --screenshot="$shot/picture.png" "file://$page#$part" 2>"$shot/log" ||
  { cat "$shot/log" >&2; exit 1; }
pngquant 64 --force --output "$picture" "$shot/picture.png"
