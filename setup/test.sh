# ./lab test: the whole suite under one preset, or only what a change can affect.

test_help() {
  cat <<'TEXT'
usage: ./lab test [--preset release|dev|asan|tsan] [--changed[=BASE]] [-- CTEST-ARGUMENTS…]

Configures, builds everything and runs all tests. The last lines are ctest's own.
  --preset P    release (default); asan and tsan build and run with sanitizers
  --changed     only the tests that a change since BASE (main) can affect, with reasons; untracked
                files count as changed. Only the whole suite is conclusive
  --            pass the rest to ctest: ./lab test -- -R ring
TEXT
}

# Puts the labels of these tests into $labels, which stays empty for all tests. Paths have no spaces.
choose_changed() {
  git rev-parse --quiet --verify "$base^{commit}" >/dev/null || fail 2 "git has no commit '$base'"
  changed=$(git diff --name-only --no-renames "$base" --; git ls-files --others --exclude-standard)
  labels=$("$bin/lab-dev" dev affected $changed) || exit $?
}

lab_test() {
  base=
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) test_help; exit 0 ;;
      --preset=*) preset=${1#--preset=} ;;
      --preset)
        [ $# -ge 2 ] || fail 2 "--preset needs a name: release, dev, asan or tsan"
        preset=$2
        shift ;;
      --changed) base=main ;;
      --changed=*) base=${1#--changed=} ;;
      --) shift; break ;;
      *) fail 2 "test has no option '$1'; see ./lab test --help" ;;
    esac
    shift
  done
  case $preset in
    release | dev | asan | tsan) ;;
    *) fail 2 "there is no preset '$preset'; choose release, dev, asan or tsan" ;;
  esac
  cd "$root"
  ready
  build
  if [ -n "$base" ]; then
    bin=$root/build/$preset/bin
    choose_changed
    [ -z "$labels" ] || set -- -L "$labels" "$@"
  fi
  # One more than there are cores, because many tests wait for a deadline or a child.
  ctest --test-dir "build/$preset" --output-on-failure -j "$(($(nproc) + 1))" "$@" || exit 1
}
