# ./lab test: the whole suite, under one preset.

test_help() {
  cat <<'TEXT'
usage: ./lab test [--preset release|dev|asan|tsan|gpu] [-- CTEST-ARGUMENTS…]

Configures, builds everything and runs all tests; the last lines are ctest's own.
  --preset P    release (default); asan and tsan build and run under the sanitizers
  --            the rest goes to ctest: ./lab test -- -R ring
TEXT
}

lab_test() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) test_help; exit 0 ;;
      --preset=*) preset=${1#--preset=} ;;
      --preset)
        [ $# -ge 2 ] || fail 2 "--preset wants a name: release, dev, asan, tsan or gpu"
        preset=$2
        shift ;;
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
  ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" "$@" || exit 1
}
