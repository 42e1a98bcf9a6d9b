# ./lab test: the whole suite, under one preset; or what a change can affect.

test_help() {
  cat <<'TEXT'
usage: ./lab test [--preset release|dev|asan|tsan|gpu] [--changed[=BASE]] [-- CTEST-ARGUMENTS…]

Configures, builds everything and runs all tests; the last lines are ctest's own.
  --preset P    release (default); asan and tsan build and run under the sanitizers
  --changed     only what a change since BASE (main) can affect, and why; untracked files count as
                changed. The whole suite decides
  --            the rest goes to ctest: ./lab test -- -R ring
TEXT
}

# The labels of those tests in $labels; nothing for all of them. Paths have no spaces here.
choose_changed() {
  git rev-parse --quiet --verify "$base^{commit}" >/dev/null || fail 2 "git knows no '$base'"
  changed=$(git diff --name-only --no-renames "$base" --; git ls-files --others --exclude-standard)
  labels=$("$bin/lab-tool" dev affected $changed) || exit $?
}

lab_test() {
  base=
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) test_help; exit 0 ;;
      --preset=*) preset=${1#--preset=} ;;
      --preset)
        [ $# -ge 2 ] || fail 2 "--preset wants a name: release, dev, asan, tsan or gpu"
        preset=$2
        shift ;;
      --changed) base=main ;;
      --changed=*) base=${1#--changed=} ;;
      --) shift; break ;;
      *) fail 2 "test takes no '$1'; see ./lab test --help" ;;
    esac
    shift
  done
  case $preset in
    release | dev | asan | tsan | gpu) ;;
    *) fail 2 "there is no preset '$preset'; one of release, dev, asan, tsan, gpu" ;;
  esac
  cd "$root"
  ready
  build
  if [ -n "$base" ]; then
    bin=$root/build/$preset/bin
    choose_changed
    [ -z "$labels" ] || set -- -L "$labels" "$@"
  fi
  ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" "$@" || exit 1
}
