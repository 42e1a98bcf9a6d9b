#!/bin/sh
# gpu_pack.sh ROOT BUILD OUT: the folder that ./lab gpu pack makes. BUILD is a folder in which the
# programs are built; all that they load and a bare machine lacks is carried, also libraries of apt.
set -eu

root=$1
build=$2
out=$3
# The trainer there is the one that connects GPUs.
programs="test_gpu test_gpu_kernels test_nccl train-all lockstep-run bench-train gpu-explain"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p "$made/bin" "$made/gpu" "$made/paper" "$made/lib" "$made/no_nccl"

for program in $programs; do
  strip -o "$made/bin/$program" "$build/bin/$program"
  # The C and C++ libraries belong to the machine, and so do NVIDIA's.
  ldd "$build/bin/$program" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' |
    grep -vE '/(libc|libm|libstdc\+\+|libgcc_s|ld-linux[^/]*|libcuda[^/]*|libcublas[^/]*|libnccl)\.so' >>"$made/libraries" || :
done
mv "$made/bin/train-all" "$made/bin/train"
sort -u "$made/libraries" | while read -r library; do cp -L "$library" "$made/lib"; done
rm "$made/libraries"
cp "$build/gpu/liblockstep_gpu.so" "$made/gpu"
for library in "$build"/paper/*.so.[0-9]*; do cp -L "$library" "$made/paper"; done
cp "$root/tests/bench/torch_train.py" "$made"
# All else must run where NCCL is missing, so a library of its name is carried whose calls all fail.
# It is used only there, and its users are then not run (run.sh).
nm -D --undefined-only "$build/gpu/liblockstep_gpu.so" | sed -n 's/.* U \(nccl[A-Za-z]*\)$/\1/p' | while read -r name; do
  case $name in
    ncclGetErrorString | ncclGetLastError) echo "const char* $name() { return \"this machine has no NCCL\"; }" ;;
    *) echo "int $name() { return 2; }" ;;   # ncclSystemError
  esac
done | { echo 'extern "C" {'; cat; echo '}'; } |
  c++ -shared -fPIC -x c++ -Wl,-soname,libnccl.so.2 -o "$made/no_nccl/libnccl.so.2" -

mkdir -p "$out"
tar -C "$made" --sort=name --owner=0 --group=0 --mtime=@0 -cf - . | gzip -6n >"$out/programs.tar.gz"
cp "$root/tests/gpu/pack/run.sh" "$root/tests/gpu/pack/README.md" "$out"
git -C "$root" rev-parse HEAD >"$out/commit.txt" 2>/dev/null || echo "of an unknown commit" >"$out/commit.txt"

kib=$(du -sk "$out" | cut -f 1)
echo "$out: $((kib / 1024)) MiB; where a GPU is: sh run.sh"
[ "$kib" -le 65536 ] || { echo "gpu_pack.sh: $out is larger than 64 MiB" >&2; exit 1; }
