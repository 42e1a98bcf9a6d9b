# The engine's programs. The caller's folder stays the working folder, so relative file names work.
# `train --ranks N` starts itself N times under the launcher.
#
# --with work and --break need a program with other parts: lab-tool reads the program's own command
# line, links those parts and becomes that program. If such a word turns out to be another option's
# value, lab-tool becomes the program itself.
other_parts() { case " $* " in *" --with"* | *" --break"*) return 0 ;; esac; return 1; }

# What a command line asks for beside the program: the GPU's library, which nothing else needs. The
# target is there without CUDA too, and empty; the program then says what is missing.
gpu_library() {
  case " $* " in *" --device cuda "* | *" --device=cuda "* | *" --backend nccl "* | *" --backend=nccl "*)
      echo gpu-library ;; esac
}

# Builds `train` and whatever else the command line of a training run asks for. `train` has DDP and the
# plain way; it says which program has another way to train, and that is built when it is first used.
# Sets `trainer`.
build_trainer() {
  trainer=train
  ready
  build train $(gpu_library "$@")
  needed=$("$bin/train" --needed-program "$@" 2>/dev/null) || return 0   # it refuses the options itself
  [ -n "$needed" ] || return 0
  [ -x "$bin/${needed%% *}" ] || [ "$as_built" = yes ] ||
    say "the trainer with ${needed#* } is built once, when it is first used"
  build "${needed%% *}"
  [ ! -x "$bin/${needed%% *}" ] || trainer=${needed%% *}
}

engine_train() {
  ! wants_help "$@" || exec "$bin/train" --help   # it exists: help_without_build has returned
  if other_parts "$@"; then hand_over "train lab-tool $(gpu_library "$@")" lab-tool $building train "$@"; fi
  build_trainer "$@"
  become "$trainer" "$@"
}

engine_generate() {
  ! wants_help "$@" || exec "$bin/generate" --help
  if other_parts "$@"; then hand_over "generate lab-tool $(gpu_library "$@")" lab-tool $building generate "$@"; fi
  hand_over "generate $(gpu_library "$@")" generate "$@"
}

# `./lab sim --ranks 4 train ARGS…` is a training run on simulated ranks, by default as many as those of
# sim: of two --ranks the last one counts.
engine_sim_train() {
  left=$#
  while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    [ "$argument" = train ] || set -- "$@" "$argument"
  done
  engine_train --backend sim --ranks 8 "$@"
}

engine_sim() {
  ! wants_help "$@" || exec "$bin/sim" --help
  case " $* " in *" train "*) engine_sim_train "$@" ;; esac
  if other_parts "$@"; then hand_over "sim lab-tool" lab-tool $building sim "$@"; fi
  hand_over sim sim "$@"
}

engine_run() {
  case ${1:-} in --help | -h) exec "$bin/lockstep-run" --help ;; esac
  if other_parts "$@"; then hand_over "lockstep-run lab-tool" lab-tool $building run "$@"; fi
  program=$(own_program "$@")
  [ "$program" != train ] || build_trainer_of_run "$@"
  hand_over "lockstep-run $program $(gpu_library "$@")" lockstep-run "$@"
}

# Of what the launcher itself is told, its --backend goes to the program.
build_trainer_of_run() {
  backend=
  while [ "$1" != -- ]; do
    case $1 in --backend) backend="--backend ${2-}" ;; --backend=*) backend=$1 ;; esac
    shift
  done
  shift 2
  build_trainer "$@" $backend
}

# The target of the lab's own program that stands behind "--"; nothing if it is another program.
own_program() {
  while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
  case ${2:-} in
    "$bin"/* | build/"$preset"/bin/* | ./build/"$preset"/bin/*) printf '%s\n' "${2##*/}" ;;
  esac
}
