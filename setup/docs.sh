# ./lab docs: headers and lessons as a web site, by Doxygen.

lab_docs() {
  case ${1:-} in
    "") ;;
    --help | -h) printf 'usage: ./lab docs\n\nWrites the documentation as a web site to build/docs/html.\n'; exit 0 ;;
    *) fail 2 "docs takes no '$1'" ;;
  esac
  install_packages $packages_docs
  cd "$root"
  mkdir -p build/docs
  doxygen docs/Doxyfile >build/docs/doxygen.log 2>&1 || {
    grep -E 'warning|error' build/docs/doxygen.log | head -n 20 >&2
    fail 1 "the documentation has warnings, which count as errors; the whole log is in build/docs/doxygen.log"
  }
  echo "$root/build/docs/html/index.html"
}
