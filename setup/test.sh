# ./lab test: what a machine proves in a quarter of an hour, the whole suite, or what a change can affect.

test_help() {
  cat <<'TEXT'
usage: ./lab test [--all | --changed[=BASE] | --share N|K/N] [--afresh] [--preset release|dev|asan|tsan]
                  [-- CTEST-ARGUMENTS…]

Configures, builds and runs the tests that take about a quarter of an hour on two cores: every room of
the engine, the judge, the lab, the texts, one proof a lesson, each hostile answer. What is left out is
not built. It is named before ctest's closing lines, which are the last, with the slowest ten tests.
  --all         the whole suite, as continuous integration runs it; only this is conclusive. It also
                shows what each exercise adds to building and testing (./lab dev costs)
  --afresh      prove what earlier runs proved, too. Otherwise a proof whose answers, exam, engine and
                compiler have the same content as in a run that you made in any clone is not made again;
                with --all, the class of hostile files then has all of them, not only those that a class
                judges otherwise
  --changed     only the tests that a change since BASE (main) can affect, of the whole suite, with
                reasons; untracked files count as changed
  --share K/N   only the Kth of N shares of the test programs, which alone are built; with N alone, the
                commit chooses one. Of --preset asan and tsan, all of them take an hour or more
  --preset P    release (default); asan and tsan build and run with sanitizers
  --            pass the rest to ctest: ./lab test -- -R ring
TEXT
}

# Puts the labels of these tests into $labels, which stays empty for all tests. Paths have no spaces.
choose_changed() {
  git rev-parse --quiet --verify "$base^{commit}" >/dev/null || fail 2 "git has no commit '$base'"
  changed=$(git diff --name-only --no-renames "$base" --; git ls-files --others --exclude-standard)
  labels=$("$bin/lab-dev" dev affected $changed) || exit $?
}

# Copies what ctest prints, and puts the figures before its closing lines. The times are in its lines:
# " 12/2225 Test  #12: name ......   Passed    0.05 sec".
show_tests() {
  times=$root/build/$preset/test_times.txt
  : >"$times"
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      *"% tests passed, "*)
        show_slowest
        show_costs
        show_remembered
        show_left_out
        show_share
        printf '%s\n' "$line"
        cat
        return ;;
      *Test*"#"*" sec"*) printf '%s\n' "$line" >>"$times" ;;
    esac
    printf '%s\n' "$line"
  done
}

show_slowest() {
  [ "$(wc -l <"$times")" -gt 10 ] || return 0
  printf 'the slowest ten tests, in seconds beside the others:\n'
  awk '{ seconds = $(NF - 1); sub(/^.*#[0-9]+: /, ""); sub(/ *\.* *(Passed|\*\*\*[A-Za-z ():]*|Not Run) *[0-9.]+ sec *$/, "")
         printf "%10.1f  %s\n", seconds, $0 }' "$times" | sort -rn | head -n 10
  printf '\n'
}

show_costs() {
  [ "${whole:-yes}" = yes ] && grep -q ': proof of ' "$times" || return 0
  "$root/build/$preset/bin/lab-dev" dev costs || :
  printf '\n'
}

# What lab-dev remembered of earlier runs: its lines are "remembered WHAT" or "tried WHAT". It may ask more
# than once.
show_remembered() {
  grep -qs '^remembered ' "$root/build/$preset/trials.txt" || return 0
  awk '{ what = substr($0, length($1) + 2); kind[what] = $2; if ($1 == "tried") made[what] }
       function told(which, name) {
         if (all[which]) said = said (said ? ", " : "") known[which] + 0 " of " all[which] " " name
       }
       END { for (what in kind) { ++all[kind[what]]; known[kind[what]] += !(what in made) }
             told("proof", "proofs of code"); told("references", "trials of references")
             told("impostors", "trials of impostors")
             print said " are remembered from earlier runs with the same content;"
             print "./lab test --afresh proves them again" }' "$root/build/$preset/trials.txt"
  printf '\n'
}

# What this run left out, from tests/left_out.txt.
show_left_out() {
  [ "${whole:-yes}" = no ] || return 0
  printf 'left out and not built; ./lab test --all runs these, too (seconds beside the others):\n'
  grep -v '^#' "$root/tests/left_out.txt" | awk '{ seconds = $1; sub(/^ *[0-9]+  /, ""); printf "%10d  %s\n", seconds, $0 }'
  printf '\n'
}

show_share() { [ -z "${share:-}" ] || printf '%s\n\n' "$share"; }

# Refuses a choice of tests, CTEST-ARGUMENTS, that meets only what is left out.
refuse_nothing() {
  ctest --test-dir "$root/build/$preset" -N -LE '^whole: ' "$@" 2>/dev/null | grep -q '^Total Tests: 0$' || return 0
  names=$(ctest --test-dir "$root/build/$preset" -N "$@" 2>/dev/null | sed -n 's/^  Test *#[0-9]*: //p' | head -n 5)
  [ -z "$names" ] || say "left out of ./lab test:
$names"
  fail 2 "no test that ./lab test runs is chosen by: $*. To choose from the whole suite, type ./lab test --all -- $*"
}

lab_test() {
  base=
  whole=no
  share=
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) test_help; exit 0 ;;
      --preset=*) preset=${1#--preset=} ;;
      --preset)
        [ $# -ge 2 ] || fail 2 "--preset needs a name: release, dev, asan or tsan"
        preset=$2
        shift ;;
      --all) whole=yes ;;
      --afresh) export LOCKSTEP_AFRESH=yes ;;
      --changed) base=main ;;
      --changed=*) base=${1#--changed=} ;;
      --share=*) share=${1#--share=} ;;
      --share)
        [ $# -ge 2 ] || fail 2 "--share needs a number of shares or one of them, as in 40 or 3/40"
        share=$2
        shift ;;
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
  nothing_ahead
  ready
  [ -z "$base$share" ] || whole=yes
  tests=build/$preset
  if [ -n "$share" ]; then
    [ -z "$base" ] || fail 2 "choose --changed or --share"
    . "$root/setup/share.sh"
    choose_share "$share"
    build $programs
    tests=$tests/share
  elif [ "$whole" = yes ]; then
    build all whole
  else
    build
    [ $# = 0 ] || refuse_nothing "$@"
    set -- -LE '^whole: ' "$@"
  fi
  if [ -n "$base" ]; then
    bin=$root/build/$preset/bin
    choose_changed
    [ -z "$labels" ] || set -- -L "$labels" "$@"
  fi
  # Two more than there are cores: many tests wait for a deadline or a child, and one that starts
  # processes takes two places.
  status=$root/build/$preset/test.status
  export LOCKSTEP_TRIALS="$root/build/$preset/trials.txt"
  rm -f "$status" "$LOCKSTEP_TRIALS"
  {
    ended=0
    ctest --test-dir "$tests" --output-on-failure -j "$(($(nproc) + 2))" "$@" 2>&1 8>&- || ended=$?
    echo "$ended" >"$status"
  } | show_tests
  read -r ended <"$status" && [ "$ended" = 0 ] || exit 1
}
