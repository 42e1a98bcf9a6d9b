# ./lab bench: the engine's speed, and how long a check takes. The programs say what they measure
# (bench --help). The shell knows the path of the peer's script and passes on TORCH_PYTHON.
lab_bench() {
  nothing_ahead
  if [ "${1-}" = native ]; then
    shift
    program=bench-native
    help_without_build "$@"
    cd "$root"
    hand_over bench-native bench-native "$@"
  fi
  if [ "${1-}" = sim ]; then
    shift
    program=bench-sim
    help_without_build "$@"
    ! wants_help "$@" || exec "$bin/bench-sim" --help
    cd "$root"
    hand_over bench-sim bench-sim "$@"
  fi
  if [ "${1-}" = links ]; then
    shift
    program=bench-links
    help_without_build "$@"
    ! wants_help "$@" || exec "$bin/bench-links" --help
    hand_over bench-links bench-links "$@"
  fi
  if [ "${1-}" = check ]; then
    shift
    program=lab-further
    help_without_build "$@"
    cd "$root"
    hand_over "lab-further lab-tool" lab-further $building bench-check "$@"
  fi
  program=bench script=torch_train.py
  [ "${1-}" != all_reduce ] || script=torch_all_reduce.py
  if [ "${1-}" = save ]; then
    shift
    program=bench-save script=torch_save.py
  fi
  help_without_build "$@"
  ! wants_help "$@" || exec "$bin/$program" --help
  python=python3
  [ ! -x "$root/build/torch/bin/python" ] || python=$root/build/torch/bin/python   # ./lab dev torch
  python=${TORCH_PYTHON:-$python}
  case " $* " in *" --torch-python"*) ;; *) set -- "$@" --torch-python "$python" ;; esac
  case " $* " in *" --torch-script"*) ;; *) set -- "$@" --torch-script "$root/tests/bench/$script" ;; esac
  [ $program = bench ] || hand_over "bench-save lockstep-run" bench-save "$@"
  . "$root/setup/engine.sh"
  hand_over "bench $(gpu_library "$@")" bench "$@"
}
