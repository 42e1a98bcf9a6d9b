# Configuring and building, quietly: one line of progress on a terminal, a few lines elsewhere. The rest
# goes to build/<preset>/build.log, which is shown after a failure.

forbidden=   # yes when nothing is to be built in the background (nothing_ahead)
announced=   # yes when a line of progress stands on the terminal

# build_failed LOG WHAT STATUS : says why, and what a student can do about it, and exits.
build_failed() {
  [ ! -t 2 ] || printf '\r\033[K' >&2
  [ "$3" -le 128 ] || fail 4 "$2 was stopped by signal $(($3 - 128)); run the same command to continue"
  free_kib=$(df -Pk "$root" | awk 'NR == 2 { print $4 }')
  if [ "${free_kib:-9999}" -lt 1024 ] || grep -qs 'No space left on device' "$1"; then
    fail 3 "$2 failed because the disk that holds $root is full. Free some space (./lab doctor says how much a build needs) and run the same command again"
  fi
  if grep -qsE 'Killed signal terminated program|cc1plus: out of memory|Cannot allocate memory' "$1"; then
    fail 3 "$2 failed because memory ran out: a compiler takes up to 600 MB. Close other programs and run the same command again; what is compiled is kept"
  fi
  compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$root/build/$preset/CMakeCache.txt" 2>/dev/null) || :
  if [ -n "$compiler" ] && ! command -v "$compiler" >/dev/null; then
    fail 3 "$2 failed because the compiler $compiler is gone. Install it (apt-get install g++; ./lab doctor says what else is missing) and run the same command again"
  fi
  grep -vE '^\[[0-9]+/[0-9]+\]' "$1" | tail -n 40 >&2
  fail 4 "$2 failed. The fault is in the lab's own code, not in yours; the whole log is in ${1#"$root"/}"
}

# Packages and a configured build folder.
ready() {
  [ "$as_built" = no ] || return 0
  packages_known || ensure_packages
  is_configured || configure
}

# Whether build/<preset> is completely configured, by its preset, for this folder. If only a part is
# there, `half` says what is wrong with it. The file `configured` remembers the result, because every
# check of a student passes through here.
is_configured() {
  half=
  at=$root/build/$preset
  cache=$at/CMakeCache.txt
  if [ ! -e "$cache" ] || [ ! -e "$at/build.ninja" ]; then
    [ ! -e "$cache" ] && [ ! -e "$at/build.ninja" ] && [ ! -d "$at/CMakeFiles" ] ||
      half="is only partly configured"
    return 1
  fi
  if [ "$at/configured" -nt "$cache" ] && IFS= read -r seen <"$at/configured" && [ "$seen" = "$root" ]; then
    return 0
  fi
  if ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    half="was configured for another folder"
  elif ! grep -qxF "CMAKE_GENERATOR:INTERNAL=Ninja" "$cache"; then
    half="was configured for a generator other than Ninja"
  fi
  [ -z "$half" ] || return 1
  printf '%s\n' "$root" 2>/dev/null >"$at/configured" || :
}

# Configures from scratch. It drops what CMake wrote and keeps what was built.
configure() {
  mkdir -p "$root/build/$preset"
  end_builder
  log=$root/build/$preset/configure.log
  [ -z "$half" ] || say "build/$preset $half, so it is configured again"
  if [ -t 2 ]; then printf '\r  configuring…\033[K' >&2; else say "configuring…"; fi
  rm -f "$root/build/$preset/build.ninja"   # until CMake is done, the folder is only partly configured
  ended=0
  (cd "$root" && cmake --fresh --preset "$preset") >"$log" 2>&1 || ended=$?
  [ "$ended" = 0 ] || build_failed "$log" "configuring" "$ended"
  [ ! -t 2 ] || printf '\r  building…\033[K' >&2   # ninja says nothing before its first step has ended
  [ ! -t 2 ] || announced=yes
}

# build [--makes-way] TARGET… : with ninja. A file keeps the exit status of the pipeline's head; it is missing
# if it could not be written.
build() {
  [ "$as_built" = no ] || return 0
  runs=run_ninja
  [ "${1:-}" != --makes-way ] || { runs=run_making_way; shift; }
  log=$root/build/$preset/build.log
  wait_for_builds
  rm -f "$log.status"
  printf '' >"$log" || :
  {
    ended=0
    ($runs "$@") || ended=$?
    echo "$ended" >"$log.status"
  } | show_progress
  read -r ended <"$log.status" || ended=1
  exec 9>&-
  [ "$ended" = 0 ] || build_failed "$log" "building" "$ended"
}

run_ninja() { NINJA_STATUS="[%f/%t] %e " exec ninja -C "$root/build/$preset" "$@" 2>&1 7>&- 8>&- 9>&-; }

# run_making_way TARGET… : as the builder that builder_asked asks. It makes way for a build that somebody waits
# for, and for a command during which nothing may be built, and goes on afterwards. Both need flock.
run_making_way() {
  command -v flock >/dev/null || run_ninja "$@"
  read -r self rest </proc/self/stat
  ninja=
  trap 'asked=way; [ -z "$ninja" ] || kill "$ninja" || :' USR1
  trap 'asked=all; [ -z "$ninja" ] || kill "$ninja" || :' TERM
  be_builder
  while :; do
    asked=
    run_ninja "$@" &
    ninja=$!
    [ -z "$asked" ] || kill "$ninja"   # it came before there was a ninja
    ended=0
    wait "$ninja" || ended=$?
    while kill -0 "$ninja" 2>/dev/null; do wait "$ninja" || :; done   # a signal ends `wait` before ninja ends
    [ -n "$asked" ] || return "$ended"
    ninja=
    [ ! -t 2 ] || printf '\r\033[K' >&2
    say "another command goes first; this build goes on afterwards"
    flock -u 9
    [ "$asked" = way ] || exec 7>&-
    sleep 2   # a command builds in several steps: another one may follow at once
    [ "$asked" = way ] || be_builder
    flock 9
  done
}

be_builder() {
  exec 7>>"$root/build/release/ahead"
  flock -n 7 || { end_builder; flock 7; }
  printf '%-40s\n' "$self 00 0 0" 1<>"$root/build/release/ahead"   # never empty (grader/lab/ahead.cpp)
}

# One build at a time: ninja does not notice another one in the same folder. Descriptor 9 holds the
# lock, and so does lab-tool while it builds (grader/lab/ready.cpp).
wait_for_builds() {
  command -v flock >/dev/null || return 0
  exec 9>"$root/build/$preset/building.lock"
  flock -n 9 || { builder_asked USR1 && flock -w 5 9; } || {
    say "another build is running in build/$preset; this one starts when it ends"
    flock 9
  }
}

# builder_asked SIGNAL : to the builder in the background (grader/lab/ahead.hpp); fails if there is none.
# USR1: it makes way, TERM: it ends. It holds the lock of the file that has its process.
builder_asked() {
  builder=
  command -v flock >/dev/null && [ -s "$root/build/release/ahead" ] || return 1
  ! flock -n -s "$root/build/release/ahead" true || return 1
  read -r builder step <"$root/build/release/ahead" || :
  [ -n "$builder" ] && kill -"$1" "$builder" 2>/dev/null
}

end_builder() { ! builder_asked TERM || flock -s -w 5 "$root/build/release/ahead" true || :; }

# Until this command has ended, nothing is built in the background: descriptor 8 holds the lock that a
# builder needs. For tests, for measurements, for grading, and for contributors' commands.
nothing_ahead() {
  [ "$as_built" = no ] && [ -d "$root/build/release" ] && command -v flock >/dev/null || return 0
  end_builder
  exec 8>>"$root/build/release/ahead"
  flock -s -n 8 || :
  forbidden=yes
}

# Copies ninja's output to the log, and its counters, "[12/80]", to one line of the terminal with the
# folder at work and an estimate of the seconds that are left. Without a terminal, it says that a build runs,
# and each quarter of one of 20 steps or more (grader/lab/build_progress.cpp does the same). "[0/2]" is a
# look at the folders, before any build.
show_progress() {
  shown=
  while IFS= read -r line; do
    printf '%s\n' "$line" 2>/dev/null || :   # the disk may be full
    case $line in "[0/"*) continue ;; "["*/*"] "*) ;; *) continue ;; esac
    seconds_left "$line"
    if [ -t 2 ]; then
      folder=
      case $line in *" object "*/CMakeFiles*) folder=${line#*" object "}; folder=" ${folder%%/CMakeFiles*}" ;; esac
      printf '\r  building %s]%s%s\033[K' "${line%%]*}" "$folder" "$left" >&2
      announced=yes
      continue
    fi
    case $line in *"Re-running CMake..."*) continue ;; esac   # the steps are counted after it
    if [ -z "$shown" ]; then
      shown=yes quarter=$((all / 4))
      if [ "$all" -lt 20 ]; then say "building…"; else say "building: $all steps…"; fi
    elif [ "$all" -ge 20 ] && [ "$done" -ge "$quarter" ] && [ $((done + all / 4)) -le "$all" ]; then
      say "building: $done of $all steps$left"
      quarter=$((done + all / 4))
    fi
  done >>"$log"   # one that makes way shares it
  [ -z "$announced" ] || printf '\r\033[K' >&2
}

# seconds_left LINE : sets done and all from "[12/80] 3.215 Building …", and left to ", about 17 s left" once
# a tenth is done and two seconds have passed; to nothing before, and for a line without seconds.
seconds_left() {
  counter=${1%%]*}
  counter=${counter#"["}
  done=${counter%/*} all=${counter#*/} left=
  took=${1#*"] "}
  took=${took%%.*}
  case $took in "" | *[!0-9]* | 0 | 1) return ;; esac
  [ $((done * 10)) -ge "$all" ] || return 0
  seconds=$((took * (all - done) / done))
  if [ "$seconds" -ge 90 ]; then
    left=", about $(((seconds + 30) / 60)) minutes left"
  elif [ "$seconds" -ge 10 ]; then
    left=", about $(((seconds + 2) / 5 * 5)) s left"
  elif [ "$seconds" -ge 1 ]; then
    left=", about $seconds s left"
  fi
}
