#!/bin/sh
# What has only been tried on paper, on a GPU: tests, sanitizers, a profiler beside paper's counters,
# speed beside PyTorch. It needs an NVIDIA GPU and its driver, the libraries of CUDA 13, and nothing
# else: no network, no packages, no compiler. `run.sh --help` says how it is called.
#
# Exit codes: 0 all was run and passed; 1 something failed; 3 nothing failed, but something could not
# be run, which is then said and not counted as passed.
set -eu

usage() {
  cat <<'TEXT'
usage: sh run.sh [--paper] [--out DIR] [--limit SECONDS] [PART…]

parts, all unless some are named:
  tests      every GPU test that needs no paper, and how far results are from the CPU's
  nccl       collectives of one rank, and training through NCCL, a rank for each GPU
  sanitizer  compute-sanitizer's four tools over a run of every kernel
  profile    ncu's requests, bank passes and lanes of every kernel, beside paper's
  bench      training speed, 9 repetitions: MLP, two small GPTs, GPT-124M in bfloat16
  torch      the same by PyTorch, eager and compiled

  --paper    a rehearsal without a GPU: the same commands in small, with the kernels on paper
  --out DIR  where results go; bring this folder back (default: results, beside run.sh)
  --limit SECONDS
             how long a command may take before it is stopped, which counts as failed (default: 570)
TEXT
}

here=$(cd "$(dirname "$0")" && pwd -P)
out=$here/results
hardware=nvidia
limit=570   # seconds, of one command
parts=
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --paper) hardware=paper ;;
    --out) [ $# -ge 2 ] || { echo "run.sh: --out needs a folder" >&2; exit 2; }; out=$2; shift ;;
    --limit)
      [ $# -ge 2 ] && [ "$2" -gt 0 ] 2>/dev/null || { echo "run.sh: --limit needs a number of seconds" >&2; exit 2; }
      limit=$2; shift ;;
    tests | nccl | sanitizer | profile | bench | torch) parts="$parts $1" ;;
    *) echo "run.sh: there is no part or option '$1' (run.sh --help)" >&2; exit 2 ;;
  esac
  shift
done
parts=${parts:-tests nccl sanitizer profile bench torch}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$here/programs.tar.gz" -C "$work"

say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }
failed=0
lacking=0
missing() { lacking=$((lacking + 1)); say "MISSING  $1: $2. Not run, and not passed."; }

# step NAME COMMAND…: its output becomes NAME.txt. Returns whether it ended well.
step() {
  name=$1
  shift
  began=$(date +%s)
  code=0
  timeout -k 10 "$limit" "$@" >"$out/$name.txt" 2>"$out/$name.errors.txt" || code=$?
  [ -s "$out/$name.errors.txt" ] || rm -f "$out/$name.errors.txt"
  took="$(($(date +%s) - began)) s"
  [ "$code" != 0 ] || return 0
  failed=$((failed + 1))
  case $code in
    124 | 137) say "FAILED   $name: stopped after $limit s" ;;
    *) say "FAILED   $name: exit code $code after $took, see $name.txt" ;;
  esac
  cat "$out/$name.txt" "$out/$name.errors.txt" 2>/dev/null | tail -n 6 | sed 's/^/           /' || :
  return 1
}
passed() { say "passed   $1 ($took)"; }

# The folder of a library: the loader's, CUDA's, or a Python package's.
folder_of() {
  found=$(ldconfig -p 2>/dev/null | sed -n "s|.*$1 .*=> ||p" | head -n 1)
  [ -z "$found" ] || { dirname "$found"; return; }
  for folder in ${CUDA_HOME:+"$CUDA_HOME/lib64"} /usr/local/cuda*/lib64 /usr/local/cuda*/targets/x86_64-linux/lib \
    /opt/cuda/lib64; do
    [ ! -e "$folder/$1" ] || { echo "$folder"; return; }
  done
  python3 - "$1" 2>/dev/null <<'PYTHON' || :
import glob, nvidia, sys
found = [file for root in nvidia.__path__ for file in glob.glob(f"{root}/*/lib/{sys.argv[1]}")]
print(found[0].rsplit("/", 1)[0])
PYTHON
}

# A tool's path: the caller's, or CUDA's.
tool() {
  command -v "$1" && return
  [ "$hardware" = nvidia ] || return 0
  for file in /usr/local/cuda*/bin/"$1" /opt/nvidia/nsight-compute/*/"$1"; do
    [ ! -x "$file" ] || { echo "$file"; return; }
  done
}

export LD_LIBRARY_PATH="$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LOCKSTEP_TEST_HARDWARE=$hardware
: >"$out/summary.txt"
say "Lockstep $(cat "$here/commit.txt") on $hardware: $parts"
{
  date -u
  uname -a
  cat /etc/os-release
  nproc
  timeout -k 10 "$limit" nvidia-smi || echo "no nvidia-smi"
  for name in nvcc ncu compute-sanitizer; do
    echo "$name: $(timeout -k 10 "$limit" "$(tool "$name" || echo false)" --version 2>&1 | tail -n 2)"
  done
} >"$out/machine.txt" 2>&1 || :

can_run=yes
nccl=yes
if [ "$hardware" = nvidia ]; then
  for library in libcudart.so.13 libcublas.so.13 libcublasLt.so.13; do
    folder=$(folder_of "$library")
    if [ -n "$folder" ]; then
      LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$folder
    else
      missing "$library" "neither the loader, nor /usr/local/cuda, nor a Python package has it"
      can_run=no
    fi
  done
  folder=$(folder_of libnccl.so.2)
  if [ -z "$folder" ]; then
    nccl=no
    folder=$work/no_nccl
  fi
  LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$folder
  if ! command -v nvidia-smi >/dev/null || ! timeout -k 10 "$limit" nvidia-smi -L >>"$out/machine.txt" 2>&1; then
    missing GPU "nvidia-smi finds none"
    can_run=no
  fi
  all_kernels="$work/bin/gpu-explain --on-gpu"
  on_device="--device cuda"
  steps=20
else
  all_kernels="$work/bin/gpu-explain --json"
  on_device="--device cuda --paper"
  steps=2   # in a rehearsal only what paper does in a second
fi

# tests_of PROGRAM FILTER: a filter that fits no test is no pass.
tests_of() {
  step "tests-$1" "$work/bin/$1" "$2" || return 0
  if grep -q '^All tests passed' "$out/tests-$1.txt"; then
    passed "tests-$1: $(grep '^All tests passed' "$out/tests-$1.txt")"
  else
    failed=$((failed + 1))
    say "FAILED   tests-$1: no test ran"
  fi
}
run_tests() {
  if [ "$hardware" = paper ]; then   # the others are run by ./lab test --all
    tests_of test_gpu "gpu: the thinnest slice*"
    tests_of test_gpu_kernels "gpu: checksums are*"
    return
  fi
  tests_of test_gpu "~[.]~[paper]~[build]"
  tests_of test_gpu_kernels "~[.]~[paper]~[build]"
  ! step distances "$work/bin/test_gpu_kernels" "[.distances]" || passed distances
}

# A rank for each GPU, four at most; paper has as many as are asked for.
run_nccl() {
  ranks=2
  if [ "$hardware" = nvidia ]; then
    if [ "$nccl" = no ]; then
      missing libnccl.so.2 "neither the loader, nor /usr/local/cuda, nor a Python package has it"
      return
    fi
    ranks=$(nvidia-smi -L | grep -c '^GPU')
    [ "$ranks" -le 4 ] || ranks=4
  fi
  tests_of test_nccl "nccl conformance: a group of one rank"
  # shellcheck disable=SC2086 # words
  ! step "nccl-$ranks-ranks" "$work/bin/train" --backend nccl ${on_device#--device cuda} --ranks "$ranks" \
    --data synthetic --steps "$steps" || passed "nccl-$ranks-ranks"
  [ "$ranks" -gt 1 ] || missing "NCCL between GPUs" "this machine has one; NCCL ran with one rank"
}

run_sanitizer() {
  sanitizer=$(tool compute-sanitizer) || :
  if [ -z "$sanitizer" ]; then
    missing compute-sanitizer "it is part of the CUDA toolkit, or of PyPI's nvidia-cuda-sanitizer-api"
    return
  fi
  for checks in memcheck racecheck initcheck synccheck; do
    # shellcheck disable=SC2086 # words
    if step "sanitizer-$checks" "$sanitizer" --tool "$checks" --error-exitcode 86 $all_kernels; then
      passed "sanitizer-$checks"
    fi
  done
}

run_profile() {
  ncu=$(tool ncu) || :
  if [ -z "$ncu" ]; then
    missing ncu "it is part of the CUDA toolkit: Nsight Compute"
    return
  fi
  global=l1tex__t_requests_pipe_lsu_mem_global_op
  sectors=l1tex__t_sectors_pipe_lsu_mem_global_op
  metrics=smsp__inst_executed.sum,smsp__thread_inst_executed_per_inst_executed.ratio
  for operation in ld st red atom; do
    metrics=$metrics,${global}_$operation.sum,${sectors}_$operation.sum
  done
  for operation in ld st; do
    metrics=$metrics,smsp__inst_executed_op_shared_$operation.sum
    metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$operation.sum
  done
  # shellcheck disable=SC2086 # words
  if ! step profile-ncu "$ncu" --csv --page raw --print-units base --metrics "$metrics" $all_kernels; then
    if grep -qs ERR_NVGPUCTRPERM "$out"/profile-ncu*.txt; then
      failed=$((failed - 1))
      missing "ncu's counters" "the driver keeps them for root (ERR_NVGPUCTRPERM); run this part as root"
    fi
    return
  fi
  passed profile-ncu
  ! step profile-beside-paper "$work/bin/gpu-explain" --beside "$out/profile-ncu.txt" ||
    passed "profile-beside-paper: $(tail -n 1 "$out/profile-beside-paper.txt")"
}

# What is trained.
models() { [ "$hardware" = paper ] && echo mlp || echo mlp gpt-small gpt gpt-124m; }
sizes_of() {
  case $hardware.$1 in
    paper.*) echo "--steps 1 --repetitions 1 --warmup 1" ;;
    *.gpt-124m) echo "--dtype bfloat16 --steps 5 --repetitions 9" ;;
    *) echo "--steps 50 --repetitions 9" ;;
  esac
}
run_bench() {
  # shellcheck disable=SC2086 # words
  ! step train "$work/bin/train" $on_device --data synthetic --steps "$steps" || passed train
  for model in $(models); do
    # shellcheck disable=SC2046,SC2086 # words
    ! step "bench-$model" "$work/bin/bench-train" $on_device --model "$model" $(sizes_of "$model") ||
      passed "bench-$model"
  done
}
run_torch() {
  device=cuda
  [ "$hardware" = nvidia ] || device=cpu
  if ! python3 -c "import torch; torch.ones(1, device='$device')" 2>"$out/torch.errors.txt"; then
    missing PyTorch "python3 does not import it, or it finds no GPU ($(tail -n 1 "$out/torch.errors.txt"))"
    return
  fi
  rm -f "$out/torch.errors.txt"
  for model in $(models); do
    for how in eager compiled; do
      compile=
      [ "$how" = eager ] || compile=--compile
      # shellcheck disable=SC2046,SC2086 # words
      ! step "torch-$how-$model" python3 "$work/torch_train.py" --device $device --model "$model" $compile \
        $(sizes_of "$model") || passed "torch-$how-$model"
    done
  done
}

# The median of the rates in a result; "-" where there is none.
median() {
  sed -n 's/.*"steps_per_s": *\[\([^]]*\)\].*/\1/p' "$out/$1.txt" 2>/dev/null | tail -n 1 | tr ', ' '\n\n' |
    grep . | sort -g | awk '{ at[NR] = $1 } END { if (NR == 0) print "-"; else printf "%.4g\n", at[int((NR + 1) / 2)] }'
}
speeds() {
  say ""
  [ "$hardware" = nvidia ] || say "on paper, which says nothing about a GPU:"
  say "steps per second, medians    Lockstep  PyTorch eager  compiled"
  for model in $(models); do
    say "$(printf '%-26s %10s %14s %9s' "$model" "$(median "bench-$model")" "$(median "torch-eager-$model")" \
      "$(median "torch-compiled-$model")")"
  done
}

if [ "$can_run" = yes ]; then
  for part in $parts; do "run_$part"; done
  case "$parts" in *bench* | *torch*) speeds ;; esac
else
  missing "all of: $parts" "there is nothing to run it on"
fi
say ""
if [ "$failed" != 0 ]; then
  say "$failed failed, $lacking missing. Results are in $out."
  exit 1
fi
if [ "$lacking" != 0 ]; then
  say "Nothing that was run has failed, but $lacking could not be run. Results are in $out."
  exit 3
fi
say "All was run and passed. Results are in $out."
