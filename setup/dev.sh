# ./lab dev: for those who change the lab. The shell looks at the form of the sources; what needs
# the course's manifest is lab-tool's. Everything that is a test runs as one, by its label.

dev_help() {
  cat <<'TEXT'
usage: ./lab dev check          format, lint of what differs from main, floors, lessons, proofs
       ./lab dev format         rewrite all C++ files with clang-format
       ./lab dev new NN/NAME --family collective|function|ranks|services [--room R]
                                make the files of a new exercise, from grader/templates
       ./lab dev stubs          make the stubs from the references
       ./lab dev course         whether manifest, stubs and files agree
       ./lab dev prove [NAME…] [--afresh]
                                stub unsolved, references pass, mutants die as kills.md says; what
                                held with the same files is not proved again without --afresh
       ./lab dev matrix [NAME…] [--write]
                                which check kills which mutant; --write: into kills.md, beside
                                the mutants
       ./lab dev matrix --page FILE
                                all that is kept as one page, with overview and totals
       ./lab dev predictions FOLDER
                                what ./lab docs shows before and after a run that is to be predicted
       ./lab dev affected PATH… the labels of the tests that a change of these files can affect
TEXT
}

sources() { git ls-files '*.cpp' '*.hpp'; }

dev_format() { sources | xargs clang-format -i; }

dev_check() {
  install_packages $packages_dev
  status=0
  say "format"
  sources | xargs clang-format --dry-run --Werror || status=1
  ready
  build
  say "lint of the files that differ from main"
  changed=$(git diff --name-only --diff-filter=d main -- '*.cpp')
  # The preset lint compiles each source by itself, so that the tool finds its command.
  [ -z "$changed" ] || { cmake --preset lint >/dev/null && clang-tidy -p build/lint --quiet $changed; } || status=1
  say "floors, sizes, stubs, mutants, quotes, shown runs"
  ctest --test-dir "build/$preset" --output-on-failure -L 'house|course|lessons' || status=1
  exit $status
}

lab_dev() {
  cd "$root"
  case ${1:-} in
    "" | --help | -h) dev_help ;;
    check) dev_check ;;
    format) install_packages $packages_dev; dev_format ;;
    *) hand_to lab-tool dev "$@" ;;
  esac
}
