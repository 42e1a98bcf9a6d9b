# ./lab bench: the engine's speed. What is measured is the program's business (bench --help); the
# shell knows where the peer's script is, and hands on TORCH_PYTHON.
lab_bench() {
  program=bench
  help_without_build "$@"
  ! wants_help "$@" || exec "$bin/bench" --help
  python=${TORCH_PYTHON:-python3}
  case " $* " in *" --torch-python"*) ;; *) set -- "$@" --torch-python "$python" ;; esac
  hand_over "bench bench-train" bench --torch-script "$root/tests/bench/torch_train.py" "$@"
}
