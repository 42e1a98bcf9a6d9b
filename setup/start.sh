# ./lab start: from a bare machine to the first verdict and a trained model in five steps. Each step says
# what it did and how long it took. The verdict comes first, since it needs less to be built.

start_help() {
  cat <<'TEXT'
usage: ./lab start [--yes]

Installs the packages that the lab needs (Debian 12, Ubuntu 24.04), builds a judge, copies the
exercises' stubs to work/, and judges the first one. Then it builds the trainer, trains a small model on
Fashion-MNIST with two processes, and shows where to begin. Everything else is built when you first need
it, or before that in the background (LOCKSTEP_BACKGROUND=0 forbids it). You can run it again: it skips
what is done and keeps your files in work/. If you stop it after the verdict, nothing is lost: ./lab train
builds the rest.

  --yes    install packages without asking (the default without a terminal)
TEXT
}

seconds() { date +%s; }

step() {
  step_began=$(seconds)
  if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    printf '\n\033[1m[%s] %s\033[0m\n' "$1" "$2"
  else
    printf '\n[%s] %s\n' "$1" "$2"
  fi
}
done_in() { printf '      %s (%s s)\n' "$1" "$(($(seconds) - step_began))"; }

lab_start() {
  for argument in "$@"; do
    case $argument in
      --help | -h) start_help; exit 0 ;;
      --yes | -y) answer=yes ;;
      *) fail 2 "start has no option '$argument'; see ./lab start --help" ;;
    esac
  done
  began=$(seconds)
  [ -w "$root" ] || fail 3 "$root is not yours to write to. Put the lab into a folder of yours and type ./lab start there"
  cd "$root"

  step 1/5 "packages"
  ensure_packages
  done_in "all installed"

  step 2/5 "build the judge"
  first=$(first_exercise)
  ready
  build $(judge_targets "$first")
  done_in "in build/release; everything else is built when you first need it"

  step 3/5 "your files"
  "$bin/lab-tool" begin
  done_in "edit the files in work/, not those in exercises/"

  step 4/5 "judge the first exercise, which you have not written yet"
  status=0
  "$bin/lab-tool" check "$first" || status=$?
  case $status in
    0 | 1) ;;   # solved already, or unsolved as expected
    *) fail 4 "the judge failed with code $status" ;;
  esac
  done_in "judged, $(($(seconds) - began)) s after you began"

  step 5/5 "build the trainer, and train a small model on two processes"
  trap 'say ""; say "stopped. Nothing is lost: your files are in work/, and ./lab train builds the rest"; exit 130' INT
  [ -e edition ] || printf "      while this builds, you can read %s\n" "$(first_lesson)"
  build --makes-way train   # for a ./lab check in another terminal
  "$bin/train" --ranks 2 --data fashion-mnist --epochs 1 ||
    fail 4 "the training run failed; ./lab doctor shows what this machine lacks"
  done_in "trained"
  trap - INT

  where_to_begin "$first"
  # What the next lesson is judged with is built while the student reads.
  "$bin/lab-tool" $building next >/dev/null || :
}

# What judges the first exercise, by its address; with the trainer, all that is built. setup/first_build.txt
# lists what that takes, and tests/house holds it.
judge_targets() {
  reading=$(sed -n 's/^reading = "\(..\).*/\1/p' "exercises/$1.toml")
  printf '%s\n' lab-tool "judge-${reading:-$(printf '%.2s' "$1")}" "player-${1#*/}"
}
first_targets() { judge_targets "$1"; printf '%s\n' train; }

first_lesson() { find lessons -mindepth 2 -name README.md | sort | sed -n 1p; }

# The address of the first code exercise on the path of exercises/course.toml, which can begin with a
# lesson or with an exercise.
first_exercise() {
  begins=$(sed -n '/^path = \[/,/^\]/s/^ *"\(.*\)",*$/\1/p' exercises/course.toml | head -n 1)
  case $begins in
    */*) printf '%s\n' "$begins" ;;
    *) grep '^place = ' exercises/"$begins"/*.toml | sort -t= -k2 -n | head -n 1 |
         sed 's|^exercises/\(.*\)\.toml:.*|\1|' ;;
  esac
}

where_to_begin() {
  site="  site    ./lab docs makes a web site of the lessons, with their tasks and with folded answers
"
  [ ! -e edition ] || site=   # the students' edition has no ./lab docs
  cat <<TEXT

Ready in $(($(seconds) - began)) s. Now:
  read    $(first_lesson), which leads through the first exercise
  edit    work/$1.cpp
  check   ./lab check ${1#*/}, or ./lab watch ${1#*/} for a verdict at each save
${site}  later   ./lab shows your progress and what comes next; ./lab doctor checks this machine
TEXT
}
