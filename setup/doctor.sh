# ./lab doctor: what the machine has, what is off, and how to fix it. It builds and installs nothing.
# The exit code is 3 if something essential is missing.

. "$root/setup/setup.sh"   # which nvcc counts

doctor_help() {
  cat <<'TEXT'
usage: ./lab doctor [--json]

Looks for everything that the lab uses. A line with "off" costs one feature. A line with "missing"
stops the lab, and the exit code is 3.
TEXT
}

# report NAME STATE DETAIL [FIX] with STATE one of there, off, missing.
report() {
  [ "$2" != missing ] || lacking=yes
  if [ "$format" = json ]; then
    printf '%s{"name":"%s","state":"%s","detail":"%s","mend":"%s"}' "$comma" \
      "$(quoted "$1")" "$2" "$(quoted "$3")" "$(quoted "${4:-}")"
    comma=,
    return
  fi
  printf '%-10s %s%-8s%s %s\n' "$1" "$(colour "$2")" "$2" "$(colour none)" "$3"
  [ -z "${4:-}" ] || printf '%-19s fix: %s\n' "" "$4"
}

quoted() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | tr '\n\t' '  '; }

colour() {
  [ -t 1 ] && [ -z "${NO_COLOR:-}" ] || return 0
  case $1 in there) printf '\033[32m' ;; off) printf '\033[33m' ;; missing) printf '\033[31m' ;;
    *) printf '\033[0m' ;; esac
}

# at_least HAVE WANT, both dotted numbers.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# tool NAME COMMAND WANTED-VERSION PACKAGE
tool() {
  if ! command -v "$2" >/dev/null; then
    report "$1" missing "$2 is not installed" "apt-get install $4"
    return
  fi
  have=$("$2" --version | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1)
  if at_least "$have" "$3"; then
    report "$1" there "$2 $have"
  else
    report "$1" missing "$2 $have; the lab needs $3 or newer" "a newer distribution: Debian 12, Ubuntu 24.04"
  fi
}

# header NAME FILE WHAT-IS-LOST PACKAGE
header() {
  if [ -e "/usr/include/$2" ] || [ -e "/usr/local/include/$2" ]; then
    report "$1" there "headers of $4"
  else
    report "$1" off "$3" "apt-get install $4"
  fi
}

# The toolkit builds the GPU's kernels, which paper executes on any machine; a GPU also needs a driver.
cuda_wanted=13
driver_wanted=580

doctor_toolkit() {
  nvcc=$(installed_nvcc)
  fetched=$root/build/cuda/nvidia/cu13/bin/nvcc   # ./lab setup --gpu
  [ -n "$nvcc" ] || [ ! -x "$fetched" ] || nvcc=$fetched
  [ -n "$nvcc" ] || nvcc=$(command -v nvcc || echo "${CUDA_HOME:-${CUDA_DEFAULT:-/usr/local/cuda}}/bin/nvcc")
  if [ ! -x "$nvcc" ]; then
    report nvcc off "no CUDA toolkit: neither --device cuda nor --paper; everything else works" \
      "./lab setup --gpu fetches NVIDIA's compiler (104 MB), or install its CUDA Toolkit $cuda_wanted"
    return
  fi
  have=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
  if [ "${have%%.*}" != "$cuda_wanted" ]; then
    report nvcc off "$nvcc is of CUDA $have, and the GPU's kernels need CUDA $cuda_wanted" \
      "./lab setup --gpu fetches NVIDIA's compiler (104 MB), or install its CUDA Toolkit $cuda_wanted; it may stand beside the other"
  elif [ ! -e "$(dirname "$nvcc")/../include/cuda_runtime_api.h" ]; then
    report nvcc off "$nvcc is there, but not the headers of the runtime" "install all of the CUDA Toolkit"
  else
    report nvcc there "CUDA $have in $(dirname "$(dirname "$nvcc")"): --device cuda --paper works"
    if [ -e "$(dirname "$nvcc")/../include/nccl.h" ]; then
      report NCCL there "several ranks on GPUs: --backend nccl --paper works"
    else
      report NCCL off "no nccl.h beside CUDA: --backend nccl works on paper only" \
        "install NVIDIA's libnccl-dev and link its header and library into the toolkit"
    fi
  fi
}

doctor_gpu() {
  doctor_toolkit
  if ! command -v nvidia-smi >/dev/null; then
    report GPU off "no NVIDIA driver: --device cuda works on paper only; everything else works"
    return
  fi
  gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1) || gpu=
  driver=${gpu##*, }
  if [ -z "$gpu" ]; then
    report GPU off "the NVIDIA driver does not answer" "nvidia-smi says why"
  elif ! at_least "$driver" "$driver_wanted"; then
    report GPU off "${gpu%%,*}, but its driver $driver does not know CUDA $cuda_wanted" \
      "install driver $driver_wanted or newer"
  else
    report GPU there "${gpu%%,*}, driver $driver"
  fi
}

# The value of a kernel setting; empty if this kernel has no such setting.
setting() { cat "/proc/sys/$(printf '%s' "$1" | tr . /)" 2>/dev/null || :; }

# Why bubblewrap gets no namespaces here, and how to fix it: the first reason that applies.
sandbox_refused() {
  refused="bubblewrap is installed, but this system refuses namespaces"
  if [ "$(setting kernel.apparmor_restrict_unprivileged_userns)" = 1 ]; then
    report sandbox off "$refused: AppArmor restricts them, as on Ubuntu 24.04" \
      "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
  elif [ "$(setting kernel.unprivileged_userns_clone)" = 0 ]; then
    report sandbox off "$refused: kernel.unprivileged_userns_clone is 0" \
      "sudo sysctl kernel.unprivileged_userns_clone=1"
  elif [ "$(setting user.max_user_namespaces)" = 0 ]; then
    report sandbox off "$refused: user.max_user_namespaces is 0" \
      "sudo sysctl user.max_user_namespaces=15000"
  elif [ -e /.dockerenv ] || [ -e /run/.containerenv ]; then
    report sandbox off "$refused: the container's profile forbids them" \
      "run the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
  else
    report sandbox off "$refused: $(bwrap --ro-bind / / --unshare-all true 2>&1 | head -n 1)"
  fi
}

doctor_sandbox() {
  if ! command -v bwrap >/dev/null; then
    report sandbox off "bubblewrap is not installed; only ./lab grade needs it" \
      "apt-get install bubblewrap"
  elif bwrap --ro-bind / / --unshare-all true 2>/dev/null; then
    report sandbox there "bubblewrap can create namespaces"
  else
    sandbox_refused
  fi
}

doctor_gdb() {
  scope=$(setting kernel.yama.ptrace_scope)
  if ! command -v gdb >/dev/null; then
    report gdb off "not installed: ./lab debug does not work" "apt-get install gdb"
  elif [ "${scope:-0}" -ge 3 ]; then
    report gdb off "kernel.yama.ptrace_scope is $scope: no program can be traced until the next boot" \
      "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and reboot"
  elif [ "${scope:-0}" = 2 ] && [ "$(id -u)" != 0 ]; then
    report gdb off "kernel.yama.ptrace_scope is 2: only root can trace a program" \
      "sudo sysctl kernel.yama.ptrace_scope=1"
  else
    report gdb there "gdb can trace the programs that it starts"
  fi
}

# Every rank of a check is a process with two files open here.
doctor_limits() {
  processes=$(awk '/^Max processes/ { print $3 }' /proc/self/limits)
  files=$(ulimit -n)
  if [ "$processes" != unlimited ] && [ "$processes" -lt 200 ]; then
    report limits off "$processes processes per user; a check needs about 20, and a build needs more" "ulimit -u 4096"
  elif [ "$files" != unlimited ] && [ "$files" -lt 256 ]; then
    report limits off "$files open files per process" "ulimit -n 1024"
  else
    report limits there "$processes processes, $files open files"
  fi
  instances=$(setting fs.inotify.max_user_instances)
  if [ "${instances:-0}" -lt 16 ]; then
    report inotify off "${instances:-no} instances: ./lab watch notices a save half a second late" \
      "sudo sysctl fs.inotify.max_user_instances=128"
  else
    report inotify there "./lab watch notices saves at once"
  fi
}

# gibibytes_free FOLDER
gibibytes_free() { df -Pk "$1" 2>/dev/null | awk 'NR == 2 { printf "%.1f", $4 / 1048576 }'; }

# doctor_space NAME FOLDER AT-LEAST WHAT-IS-LOST FIX
doctor_space() {
  free=$(gibibytes_free "$2")
  if awk -v f="${free:-0}" -v l="$3" 'BEGIN { exit !(f < l) }'; then
    report "$1" off "${free:-0} GiB free in $2: $4" "$5"
  else
    report "$1" there "$free GiB free in $2"
  fi
}

# The date of a file written now; builds compare such dates.
doctor_clock() {
  now=$(date +%s)
  probe=$(mktemp "$root/.clock-XXXXXX" 2>/dev/null) || {
    report clock off "cannot write a file in $root" "check its owner: ls -ld $root"
    return 0
  }
  written=$(stat -c %Y "$probe")
  rm -f "$probe"
  skew=$((written - now))
  if [ "$now" -lt 1700000000 ]; then
    report clock off "the clock says $(date +%F), which is wrong" "sudo timedatectl set-ntp true"
  elif [ "$skew" -lt -2 ] || [ "$skew" -gt 2 ]; then
    report clock off "new files are dated $skew s off the clock (is the folder on a different machine?): builds may repeat or skip work" \
      "sudo timedatectl set-ntp true, on both machines"
  else
    report clock there "the file dates agree with the clock"
  fi
}

doctor_memory() {
  total=$(awk '/^MemTotal/ { printf "%.1f", $2 / 1048576 }' /proc/meminfo)
  free=$(awk '/^MemAvailable/ { printf "%.1f", $2 / 1048576 }' /proc/meminfo)
  if awk -v f="$free" 'BEGIN { exit !(f < 1.5) }'; then
    report memory off "$free of $total GiB available: a parallel build may not fit" "close programs, or build one file at a time with ninja -C build/release -j1"
  else
    report memory there "$free of $total GiB available"
  fi
}

doctor_data() {
  folder=/usr/share/datasets/fashion-mnist
  if [ -e "$folder/train-images-idx3-ubyte.gz" ]; then
    report data there "Fashion-MNIST in $folder"
  else
    report data off "no Fashion-MNIST; ./lab train --data synthetic still works" \
      "apt-get install dataset-fashion-mnist"
  fi
}

lab_doctor() {
  format=text
  for argument in "$@"; do
    case $argument in
      --help | -h) doctor_help; exit 0 ;;
      --json) format=json ;;
      *) fail 2 "doctor has no option '$argument'; see ./lab doctor --help" ;;
    esac
  done
  lacking=
  comma=
  [ "$format" = text ] || printf '{"checks":['
  tool compiler g++ 12 g++
  [ -e "$root/edition" ] || tool CMake cmake 3.25 cmake
  [ -e "$root/edition" ] || tool ninja ninja 1.10 ninja-build
  report cores there "$(nproc)"
  doctor_memory
  doctor_space disk "$root" 3 "a build needs 2 GiB" "rm -r build, or use another disk"
  doctor_space shm /dev/shm 0.1 "ranks on one machine cannot share memory; use --transport gloo" \
    "mount -o remount,size=1G /dev/shm (in a container: --shm-size 1g)"
  doctor_clock
  doctor_limits
  header Gloo gloo/context.h "no training on several processes; the judge still works" libgloo-dev
  header oneDNN dnnl.h "matrix products use the portable kernels, which are slower" libdnnl-dev
  doctor_gpu
  doctor_sandbox
  doctor_gdb
  doctor_data
  if [ "$format" = json ]; then
    printf '],"ok":%s}\n' "$([ -z "$lacking" ] && echo true || echo false)"
  fi
  [ -z "$lacking" ] || exit 3
}
