# ./lab gpu: what the GPU's kernels do, and how they are tried where a GPU is.

gpu_help() {
  cat <<'TEXT'
usage: ./lab gpu explain [KERNEL] [--dtype T] [--all] [--json]
                                what a kernel does on a modelled GPU: sectors, bank conflicts, idle
                                lanes, registers, occupancy, with the lines of source that cause them;
                                without a name, all kernels, a line each
       ./lab gpu pack [--out DIR]
                                a folder (build/gpu_pack) that runs all GPU tests, NVIDIA's checking
                                and profiling tools beside paper's counters, and the benchmarks
                                beside PyTorch: sh DIR/run.sh, on a machine that has a GPU and CUDA
                                and need have neither network nor compiler
TEXT
}

# The programs of a pack, built; the folder is made by gpu_pack.sh.
gpu_pack() {
  out=$root/build/gpu_pack
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) gpu_help; exit 0 ;;
      --out) [ $# -ge 2 ] || fail 2 "--out needs a folder"; out=$2; shift ;;
      --out=*) out=${1#--out=} ;;
      *) fail 2 "gpu pack has no option '$1'; see ./lab gpu --help" ;;
    esac
    shift
  done
  ready
  build gpu-pack-programs
  [ -e "${bin%/bin}/gpu/liblockstep_gpu.so" ] ||
    fail 3 "this build has no GPU code to pack; ./lab doctor says what of CUDA is missing"
  sh "$root/setup/gpu_pack.sh" "$root" "${bin%/bin}" "$out"
}

lab_gpu() {
  case ${1:-} in
    explain)
      shift
      program=gpu-explain
      help_without_build "$@"
      hand_over "gpu-explain gpu-library" gpu-explain "$@" ;;
    pack) shift; gpu_pack "$@" ;;
    "" | --help | -h) gpu_help ;;
    *) fail 2 "gpu has no command '$1'; it is ./lab gpu explain or ./lab gpu pack" ;;
  esac
}
