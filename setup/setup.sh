# ./lab setup: what one command only needs. For --gpu that is NVIDIA's compiler from PyPI, in a folder
# of build/, where the machine has no CUDA toolkit (docs/decisions/0045). No other command fetches it.

setup_help() {
  cat <<'TEXT'
usage: ./lab setup --gpu [--fetch]
       ./lab setup --docs
       ./lab setup --clang

--gpu fetches NVIDIA's compiler and the headers of its runtime from PyPI (104 MB, 270 MB unpacked) to
build/cuda, checks their digests, and configures the build anew. After that, --device cuda --paper and
./lab gpu explain work without a GPU. Where CUDA 13 is installed, there is nothing to do.

  --fetch   also where CUDA 13 is installed

--docs installs what ./lab docs needs: Doxygen, blahtexml and a font for formulas.

--clang installs clang 16 and its clang-tidy, with which ./lab test --all reads the sources.
TEXT
}

# The nvcc of a toolkit of CUDA 13 that is not ours, of several the one that cmake/cuda.cmake takes;
# nothing where there is none. A test names a folder in CUDA_DEFAULT.
installed_nvcc() {
  for nvcc in "$(command -v nvcc)" ${CUDA_HOME:+"$CUDA_HOME/bin/nvcc"} ${CUDA_PATH:+"$CUDA_PATH/bin/nvcc"} "${CUDA_DEFAULT:-/usr/local/cuda}/bin/nvcc"; do
    [ -x "$nvcc" ] || continue
    case $("$nvcc" --version 2>/dev/null) in *"release 13."*) echo "$nvcc"; return ;; esac
  done
}

# A Python that has pip: the machine's, or one in a virtual environment in build/.
python_with_pip() {
  if python3 -m pip --version >/dev/null 2>&1; then
    python=python3
    return
  fi
  python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
  python3 -m venv "$root/build/pip" || fail 3 "python3 cannot create a virtual environment in build/pip"
  python=$root/build/pip/bin/python
}

fetch_compiler() {
  python_with_pip
  mkdir -p "$root/build"
  fresh=$root/build/cuda.fresh
  log=$root/build/cuda.log
  rm -rf "$fresh"
  say "fetching NVIDIA's compiler (104 MB)…"
  "$python" -m pip install --disable-pip-version-check --no-cache-dir --no-deps --require-hashes \
    --only-binary :all: --target "$fresh" -r "$root/setup/cuda.txt" >"$log" 2>&1 || {
    rm -rf "$fresh"
    tail -n 5 "$log" >&2
    fail 3 "the compiler could not be fetched from PyPI, or has another digest than setup/cuda.txt says; the whole log is in build/cuda.log. Nothing was changed"
  }
  nvcc=$fresh/nvidia/cu13/bin/nvcc
  "$nvcc" --version >>"$log" 2>&1 || {
    rm -rf "$fresh"
    fail 3 "the compiler that was fetched does not run on this machine; the log is in build/cuda.log"
  }
  rm -rf "$root/build/cuda"
  mv "$fresh" "$root/build/cuda"
}

lab_setup() {
  wanted=
  even_so=no
  for argument in "$@"; do
    case $argument in
      --help | -h) setup_help; exit 0 ;;
      --gpu | --docs | --clang) wanted=${argument#--} ;;
      --fetch) even_so=yes ;;
      *) fail 2 "setup has no option '$argument'; see ./lab setup --help" ;;
    esac
  done
  case $wanted in
    gpu) set_up_gpu ;;
    docs) install_packages $packages_docs ;;
    clang) install_packages $packages_clang ;;
    *) fail 2 "say what to set up: ./lab setup --gpu, --docs or --clang" ;;
  esac
}

set_up_gpu() {
  have=$(installed_nvcc)
  if [ -n "$have" ] && [ "$even_so" = no ]; then
    echo "CUDA 13 is installed: $have. There is nothing to fetch."
    return
  fi
  fetch_compiler
  ensure_packages
  half=
  configure
  echo "NVIDIA's compiler is in build/cuda. Now: ./lab train --device cuda --paper --steps 20"
}
