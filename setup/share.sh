# ./lab test --share: a part of the test programs, built and run by themselves. A sanitizer's build of
# everything takes an hour of two cores; a share of it shows the same of what is in it.

# choose_share N | K/N : sets programs, and writes the folder whose tests ctest runs. Programs are dealt
# one by one; of the N shares, the commit chooses one where K is not said. CMake lists the programs.
choose_share() {
  shares=${1#*/} part=
  case $1 in */*) part=${1%/*} ;; esac
  case $1 in "" | /* | */ | *[!0-9/]* | */*/*) fail 2 "--share needs a number of shares or one of them, as in 40 or 3/40, and not '$1'" ;; esac
  [ "$shares" -ge 1 ] || fail 2 "--share $1: there is at least one share"
  if [ -z "$part" ]; then
    part=$(git rev-list --count --first-parent HEAD 2>/dev/null) ||
      fail 2 "--share $1: without git's history no commit chooses a share; name one, as in 3/$1"
    part=$((part % shares + 1))
  fi
  [ "$part" -ge 1 ] && [ "$part" -le "$shares" ] || fail 2 "--share $part/$shares: the shares are 1 to $shares"
  list=$root/build/$preset/test_programs.txt
  [ -s "$list" ] || configure
  chosen=$(awk -v part="$part" -v shares="$shares" 'NR % shares == part % shares' "$list")
  [ -n "$chosen" ] || fail 2 "--share $part/$shares is empty: there are $(wc -l <"$list") test programs"
  programs=$(printf '%s\n' "$chosen" | cut -d ' ' -f 1 | tr '\n' ' ')
  share="share $part of $shares, with $preset: $programs"
  mkdir -p "$root/build/$preset/share"
  printf '%s\n' "$chosen" | sed 's/^[^ ]* \(.*\)/include("\1")/' >"$root/build/$preset/share/CTestTestfile.cmake"
}
