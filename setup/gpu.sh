# ./lab gpu: what the GPU's kernels do, and how they are tried where a GPU is.

gpu_help() {
  cat <<'TEXT'
usage: ./lab gpu explain [KERNEL] [--dtype T] [--all] [--json]
                                what a kernel does on a modelled GPU: sectors, bank conflicts, idle
                                lanes, registers, occupancy, with the lines of source that cause them;
                                without a name, all kernels, a line each
TEXT
}

lab_gpu() {
  case ${1:-} in
    explain)
      shift
      program=gpu-explain
      help_without_build "$@"
      hand_over "gpu-explain gpu-library" gpu-explain "$@" ;;
    "" | --help | -h) gpu_help ;;
    *) fail 2 "gpu has no command '$1'; it is ./lab gpu explain" ;;
  esac
}
