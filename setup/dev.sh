# ./lab dev: for those who change the lab. The shell checks the form of the sources; lab-dev does what
# needs the course's manifest. Tests run by their labels.

dev_help() {
  cat <<'TEXT'
usage: ./lab dev check          format, lint of files that differ from main, floors, lessons, proofs
       ./lab dev format         rewrite all C++ files with clang-format
       ./lab dev new NN/NAME --family collective|function|ranks|services [--room R]
                                create the files of a new exercise from grader/templates
       ./lab dev stubs          generate the stubs from the references
       ./lab dev course         check that manifest, stubs and files agree
       ./lab dev prove [NAME…] [--afresh]
                                check that stubs are unsolved, references pass, mutants die for
                                the stated reason, and each check kills one;
                                --afresh repeats what held in an earlier run, of any clone, with
                                the same content, of proofs, impostors and references
       ./lab dev matrix [NAME…] prove what has changed, and show which check kills which mutant
       ./lab dev matrix --page FILE
                                write the matrices of all exercises that are proved to one
                                page, with overview and totals
       ./lab dev impostors [NAME…] [--seeds N] [--afresh]
                                check that no check holds for players that contain no part
       ./lab dev references [NAME…] [--seeds N] [--afresh]
                                check that the references earn all points under N seeds
       ./lab dev torch          install the newest PyTorch from PyPI in build/torch (about 6 GB),
                                for the lessons' Python and as a peer of ./lab bench
       ./lab dev predictions FOLDER
                                write what the site shows before and after a predicted run
       ./lab dev fuzz TARGET [SECONDS | --keep]
                                feed a parser made-up inputs for 600 seconds, or as many; TARGET is
                                archives, checkpoint_index, frames, quiz or roster; --keep adds what
                                was found and reaches new code to tests/fuzz/corpus/TARGET.tar
       ./lab dev costs [--hold] list what each exercise adds to building and testing, and what is
                                over its budget; --hold fails if an exercise exceeds it
       ./lab dev affected PATH… list the labels of tests that a change to these files can affect
TEXT
}

sources() { git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh'; }

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
  # The preset lint compiles each source separately, so that the tool finds its command. Debian 12's
  # clang lacks what the library's <source_location> needs.
  [ -z "$changed" ] || { cmake --preset lint >/dev/null &&
    clang-tidy -p build/lint --quiet --extra-arg-before=-include --extra-arg-before="$root/tests/fuzz/source_location.hpp" $changed; } || status=1
  say "floors, sizes, stubs, mutants, quotes, shown runs"
  ctest --test-dir "build/$preset" --output-on-failure -L 'house|course|lessons' 8>&- || status=1
  exit $status
}

# A virtual environment; running it again brings it up to date.
dev_torch() {
  python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
  python3 -m venv build/torch || fail 3 "python3 cannot create a virtual environment in build/torch"
  build/torch/bin/pip install --disable-pip-version-check --no-cache-dir --upgrade torch numpy safetensors ||
    fail 3 "PyTorch could not be installed from PyPI; look at pip's last lines above"
  build/torch/bin/python -c 'import torch; print("PyTorch", torch.__version__, "in build/torch")' ||
    fail 3 "PyTorch is installed in build/torch but does not start"
}

# Builds a target with clang. What it finds is put into build/fuzz/found; --keep adds to the archive
# of kept inputs those of them that reach an edge that no kept one reaches.
dev_fuzz() {
  target=${1:-}
  [ -f "tests/fuzz/$target.cpp" ] || fail 2 "name a target: archives, checkpoint_index, frames, quiz or roster"
  install_packages $packages_dev
  found=build/fuzz/found/$target kept=build/fuzz/kept/$target archive=tests/fuzz/corpus/$target.tar
  cmake --preset fuzz >/dev/null && ninja -C build/fuzz "fuzz_$target" && mkdir -p "$found" || exit 1
  rm -rf "$kept" && mkdir -p "$kept" && tar -xf "$archive" -C "$kept" || exit 1
  if [ "${2:-}" = --keep ]; then
    build/fuzz/bin/fuzz_"$target" -set_cover_merge=1 -use_counters=0 "$kept" "$found" || exit 1
    (cd "$kept" && tar --format=ustar --sort=name --owner=0 --group=0 --mode=0644 --mtime=@0 \
      -cf "$root/$archive" -- *) || exit 1
    say "$archive: $(tar -tf "$archive" | wc -l) inputs"
    return
  fi
  build/fuzz/bin/fuzz_"$target" "$found" "$kept" -dict=tests/fuzz/dictionary \
    -max_total_time="${2:-600}" -max_len=16384 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$found-" || fail 1 "a finding; its input is $found-*"
}

lab_dev() {
  cd "$root"
  nothing_ahead
  case ${1:-} in
    "" | --help | -h) dev_help ;;
    check) dev_check ;;
    torch) dev_torch ;;
    fuzz) shift; dev_fuzz "$@" ;;
    format) install_packages $packages_dev; dev_format ;;
    *) hand_to lab-dev dev "$@" ;;
  esac
}
