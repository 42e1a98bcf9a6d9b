# What the lab needs from Debian 12 or Ubuntu 24.04. It installs with apt only. A marker in build/
# remembers that the list was satisfied, so that later commands need not ask.

# For ./lab grade: the sandbox of students' files, secret seeds, and names in any form of Unicode.
packages_grade="bubblewrap libseccomp-dev libssl-dev libutf8proc-dev"
packages="g++ cmake ninja-build mold binutils libgloo-dev libdnnl-dev libcxxopts-dev \
nlohmann-json3-dev libtomlplusplus-dev libmuparser-dev zlib1g-dev libarchive-dev catch2 \
dataset-fashion-mnist $packages_grade"
# For the students' edition, which brings what is built.
packages_edition="g++ mold binutils libgloo-dev libdnnl-dev libtomlplusplus-dev libmuparser-dev zlib1g-dev \
libarchive-dev libssl-dev dataset-fashion-mnist"
packages_docs="doxygen blahtexml fonts-stix"
packages_dev="clang-format clang-tidy clang libclang-rt-dev"
# In both systems: what ./lab test --all reads the sources with, and CI builds with.
packages_clang="clang-16 clang-tidy-16"

# The named packages that are not installed.
missing_packages() {
  for package in "$@"; do
    status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) || status=
    case $status in ii*) ;; *) printf '%s ' "$package" ;; esac
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# install_packages NAME… : names and installs the missing ones. On a terminal it asks first, unless
# --yes was given (answer=yes).
answer=ask
install_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    fail 3 "this system has no apt. The lab installs itself only on Debian 12 and Ubuntu 24.04. Elsewhere, install the equivalents of: $*. Then run: mkdir -p build && touch build/packages-by-hand"
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  say "packages to install: $missing"
  [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
    fail 3 "installing needs root, and sudo is missing. Run as root: apt-get install --no-install-recommends $missing"
  if [ "$answer" = ask ] && [ -t 0 ] && [ -t 2 ]; then
    printf 'install them now? [Y/n] ' >&2
    read -r reply
    case $reply in [nN]*) fail 3 "nothing was installed. To install by hand: apt-get install --no-install-recommends $missing" ;; esac
  fi
  mkdir -p "$root/build"
  log=$root/build/packages.log
  {
    as_root apt-get update &&
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
  } >"$log" 2>&1 || {
    tail -n 15 "$log" >&2
    fail 3 "apt could not install the packages; the whole log is in build/packages.log. Check the network (on Ubuntu, the 'universe' archive must be enabled)"
  }
}

# True if the marker holds exactly this list.
packages_known() {
  [ ! -e "$root/build/packages-by-hand" ] || return 0
  [ -r "$root/build/packages" ] && IFS= read -r seen <"$root/build/packages" && [ "$seen" = "$packages" ]
}

ensure_packages() {
  packages_known && return 0
  install_packages $packages
  mkdir -p "$root/build"
  printf '%s\n' "$packages" >"$root/build/packages"
}
