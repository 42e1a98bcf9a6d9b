# Configuring and building, quietly: one line of progress on a terminal, one word elsewhere, and
# everything else in build/<preset>/build.log, which is shown when something fails.

build_failed() {
  [ -t 2 ] && printf '\r\033[K' >&2
  grep -vE '^\[[0-9]+/[0-9]+\]' "$1" | tail -n 40 >&2
  fail 4 "$2 failed. This is the lab's own code, not yours; the whole log is in ${1#"$root"/}"
}

# Packages and a configured build folder.
ready() {
  [ "$as_built" = no ] || return 0
  packages_known || ensure_packages
  [ -e "$root/build/$preset/build.ninja" ] || configure
}

configure() {
  mkdir -p "$root/build/$preset"
  log=$root/build/$preset/configure.log
  [ -t 2 ] || say "configuring…"
  (cd "$root" && cmake --preset "$preset") >"$log" 2>&1 || build_failed "$log" "configuring"
}

# build TARGET… : with ninja. The exit status of a pipeline's head is kept in a file.
build() {
  [ "$as_built" = no ] || return 0
  log=$root/build/$preset/build.log
  { ninja -C "$root/build/$preset" "$@" 2>&1 && : >"$log.done" || rm -f "$log.done"; } | show_progress
  [ -e "$log.done" ] || build_failed "$log" "building"
}

# Copies ninja's output to the log, and its counters, "[12/80]", to one line of the terminal. Where
# there is none, only that something is built. "[0/2]" is a look at the folders, before anything is.
show_progress() {
  shown=
  while IFS= read -r line; do
    printf '%s\n' "$line"
    case $line in "[0/"*) continue ;; "["*/*"] "*) ;; *) continue ;; esac
    if [ -t 2 ]; then
      printf '\r  building %s]\033[K' "${line%%]*}" >&2
    elif [ -z "$shown" ]; then
      say "building…"
    fi
    shown=yes
  done >"$log"
  [ -z "$shown" ] || [ ! -t 2 ] || printf '\r\033[K' >&2
}
