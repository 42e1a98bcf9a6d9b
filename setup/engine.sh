# `train --break NAME`: two runs, first the correct program, then one with a part that is wrong on purpose.
engine_break() {
  name=$1
  shift
  json=
  left=$#
  while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in --json) json=--json; continue ;; esac
    set -- "$@" "$argument"
  done
  build train lab-tool
  exec "$bin/lab-tool" $building break "$name" $json -- "$@"
}

# The engine's programs. `train --ranks N` starts itself N times under the launcher. The caller's folder
# stays the working folder, so relative file names work. The wrapper itself handles `--with work`: it
# chooses the program that is linked with the student's passing parts.
engine_train() {
  train=$bin/train
  if wants_help "$@"; then
    "$train" --help   # as it was built: help_without_build has returned, so it exists
    echo "  --with work      use your parts from work/ that pass, and references for the others"
    echo "  --break X        train twice, the second time with a part that is wrong on purpose; X = list shows them all"
    exit 0
  fi
  ready
  build train
  with_work=no
  broken=
  left=$#
  while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    if [ "$argument" = --with ] && [ "$left" -gt 0 ]; then
      argument=--with=$1
      shift
      left=$((left - 1))
    elif [ "$argument" = --break ] && [ "$left" -gt 0 ]; then
      argument=--break=$1
      shift
      left=$((left - 1))
    fi
    case $argument in
      --with=work) with_work=yes; continue ;;
      --with | --with=*) fail 2 "--with takes 'work': ./lab train --with work" ;;
      --break=?*) broken=${argument#--break=}; continue ;;
      --break | --break=) fail 2 "--break needs a name; ./lab train --break list lists them" ;;
    esac
    set -- "$@" "$argument"
  done
  [ -z "$broken" ] || engine_break "$broken" "$@"
  if [ "$with_work" = yes ]; then
    build lab-tool
    # One line with the program, then lines with options that the parts need.
    linked=$("$bin/lab-tool" $building with-work -- "$@") || exit $?
    train=$(printf '%s\n' "$linked" | head -n 1)
    set -- $(printf '%s\n' "$linked" | tail -n +2) "$@"
  fi
  exec "$train" "$@"
}

engine_generate() {
  hand_over generate generate "$@"
}

# `./lab sim --ranks 8 train ARGS…`: a training run on simulated ranks.
engine_sim_train() {
  left=$#
  ranks="--ranks 8"   # sim's default
  while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in
      train) continue ;;
      --ranks | --ranks=*) ranks= ;;
    esac
    set -- "$@" "$argument"
  done
  engine_train --backend sim $ranks "$@"
}

# Its PROGRAM runs as the student wrote it, whether it passes or not: a simulator shows what is wrong
# with it.
engine_sim() {
  if wants_help "$@"; then
    "$bin/sim" --help
    echo "  --with work        use PROGRAM from work/ as it is, and your other parts that pass"
    echo "  train ARGS         instead of PROGRAM: ./lab train --backend sim ARGS"
    exit 0
  fi
  case " $* " in *" train "*) engine_sim_train "$@" ;; esac
  with_work=no
  always=
  left=$#
  while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    if [ "$argument" = --with ] && [ "$left" -gt 0 ]; then
      argument=--with=$1
      shift
      left=$((left - 1))
    fi
    case $argument in
      --with=work) with_work=yes; continue ;;
      --with | --with=*) fail 2 "--with takes 'work': ./lab sim --with work PROGRAM" ;;
      *[!a-z_]*) ;;
      *) always="$always --always $argument" ;;
    esac
    set -- "$@" "$argument"
  done
  [ "$with_work" = yes ] || hand_over sim sim "$@"
  ready
  build sim lab-tool
  program=$("$bin/lab-tool" $building with-work --program sim $always) || exit $?
  exec "$program" "$@"
}

engine_run() {
  case ${1:-} in
    --help | -h)
      "$bin/lockstep-run" --help
      echo "  --with work        run the engine's PROGRAM with your parts from work/ that pass"
      exit 0 ;;
  esac
  ready
  build lockstep-run
  with_work=no
  reading=options   # then the program's name, then its arguments
  left=$#
  while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $reading in
      options)
        if [ "$argument" = --with ] && [ "$left" -gt 0 ]; then
          argument=--with=$1
          shift
          left=$((left - 1))
        fi
        case $argument in
          --with=work) with_work=yes; continue ;;
          --with | --with=*) fail 2 "--with takes 'work': ./lab run --with work -- PROGRAM" ;;
          --) reading=program ;;
        esac ;;
      program)
        reading=arguments
        build_program "$argument"
        if [ "$with_work" = yes ]; then
          argument=$(program_with_work "$argument") || exit $?
        fi ;;
    esac
    set -- "$@" "$argument"
  done
  exec "$bin/lockstep-run" "$@"
}

# The lab's own programs are built before they run.
build_program() {
  case $1 in
    "$bin"/* | build/"$preset"/bin/* | ./build/"$preset"/bin/*) build "${1##*/}" ;;
  esac
}

# The path of a program of the engine, linked with the student's passing parts.
program_with_work() {
  name=${1##*/}
  [ -x "$bin/$name" ] ||
    fail 2 "--with work needs a program of the engine, such as build/release/bin/smoke, not '$1'"
  build lab-tool
  "$bin/lab-tool" $building with-work --program "$name"
}
