#!/bin/sh
# Reads sources as clang reads them, each by itself, so that nothing comes from a unit's other sources
# or from a precompiled header. Shows the first errors of each file that has some, and then fails.
#
#   read.sh commands ROOT FOLDER CLANG               configures FOLDER; the other two need that
#   read.sh changed ROOT FOLDER CLANG CLANG-TIDY     what differs from main (on main: from the commit
#                                                    before), with clang-tidy
#   read.sh share ROOT FOLDER CLANG                  one of $shares shares of all sources, chosen by the commit
#
# It takes about a minute of a processor: `changed` looks at $changed_max sources, and as
# many headers, and at $analysed of them with the static analyzer, too. What it passes over it counts;
# `./lab dev check` looks at all.
set -eu
what=$1 root=$2 folder=$3 clang=$4 tidy=${5:-}
shares=48 changed_max=8 analysed=2 readers_max=6

# Debian 12's clang 14 lacks what the library's <source_location> needs. Only of clang 16, which CI
# builds with, warnings are errors.
old= strict=
case $("$clang" --version) in
  *"clang version 14."*) old="-include $root/tests/fuzz/source_location.hpp" ;;
  *"clang version 16."*) strict=-Werror ;;
esac

read_commands() {
  CXX=$clang cmake --preset lint -S "$root" -B "$folder" -DLOCKSTEP_WERROR=OFF >"$folder.log" 2>&1 || {
    cat "$folder.log"
    exit 1
  }
  # The first command of each source that is there: what is written by programs may not be. One line each.
  awk '/"command":/ { command = $0; sub(/^ *"command": "/, "", command); sub(/",$/, "", command)
                      gsub(/\\\\/, "\001", command); gsub(/\\"/, "\"", command); gsub("\001", "\\", command) }
       /"file":/ { file = $0; sub(/^ *"file": "/, "", file); sub(/",?$/, "", file)
                   if (!(file in seen)) print file "\t" command; seen[file] = 1 }' \
    "$folder/compile_commands.json" | sort >"$folder/all.txt"
  while IFS= read -r line; do [ ! -f "${line%%"	"*}" ] || printf '%s\n' "$line"; done <"$folder/all.txt" >"$folder/commands.txt"
}

# Counts landings, so that each share has its turn; a clone without history has the commit's name alone.
number() {
  if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    echo $((0x$(git rev-parse --short=7 HEAD)))
  else
    git rev-list --count --first-parent HEAD
  fi
}

base() {
  main=$(git rev-parse --quiet --verify main || git rev-parse --quiet --verify origin/main) || main=HEAD
  if git merge-base --is-ancestor HEAD "$main"; then
    git rev-parse --quiet --verify HEAD~1 || git rev-parse HEAD
  else
    git merge-base "$main" HEAD
  fi
}

# At most $1 of the lines, evenly, beginning at another for each commit.
some() { awk -v most="$1" -v turn="$turn" '{ line[NR - 1] = $0 } END { for (i = 0; i < NR && i < most; ++i) print line[(turn + int(i * NR / (NR < most ? NR : most))) % NR] }'; }

failed=0
# result FILE STATUS : after clang has written into $folder/said.
result() {
  [ "$2" != 0 ] || return 0
  failed=$((failed + 1))
  printf '\n%s, read by itself:\n' "${1#"$root"/}"
  grep -E -A 3 ': (fatal )?error:|^error:' "$folder/said" | head -n 12 || head -n 12 "$folder/said"
}

# own_command FILE : puts the compiler's words for it, up to its output, into $command.
own_command() {
  command=$(awk -F '\t' -v file="$1" '$1 == file { print $2; exit }' "$folder/commands.txt")
  command=${command%% -o *}
}

# syntax FILE FLAGS : by the file's own command.
syntax() {
  own_command "$1"
  ended=0
  (cd "$folder" && eval "$command -fsyntax-only $strict $old $2 $1") >"$folder/said" 2>&1 || ended=$?
  result "$1" "$ended"
}

# The standard library, read once. Its flags are those of all: what only code generation asks for is gone.
with_library() {
  sed -i 's/ -O[0-3]\>//g; s/ -DNDEBUG\>//; s/ -fPIC\>//g; s/ -fno-math-errno\>//' "$folder/commands.txt"
  command=$(head -n 1 "$folder/commands.txt" | cut -f 2)
  { printf '#include <%s>\n' algorithm array chrono cmath cstdint cstring filesystem fstream functional iostream map \
      memory mutex numeric optional set span sstream stdexcept string string_view thread utility vector
    echo '#include "tests/catch.hpp"'; } >"$folder/library.hpp"
  (cd "$folder" && eval "${command%% -o *} $old -x c++-header library.hpp -o library.pch")
  library="-include-pch $folder/library.pch"
}

read_share() {
  all=$(wc -l <"$folder/commands.txt")
  part=$((turn % shares))
  with_library
  for file in $(cut -f 1 "$folder/commands.txt" | awk -v part="$part" -v shares="$shares" 'NR % shares == part'); do
    syntax "$file" "$library"
    count=$((${count:-0} + 1))
  done
  said="clang read ${count:-0} of $all sources by themselves: share $((part + 1)) of $shares, which the commit chooses"
}

# tidied CHECKS FILE…
tidied() {
  config="{Checks: '-*,clang-diagnostic-*,$1', WarningsAsErrors: '*'}"
  shift
  for file in "$@"; do
    own_command "$file"
    ended=0
    (cd "$folder" && eval "\"\$tidy\" --quiet --config=\"\$config\" $file -- ${command#* } $old") >"$folder/said" 2>&1 || ended=$?
    result "$file" "$ended"
  done
}

read_changed() {
  since=$(base)
  { git diff --name-only --diff-filter=d "$since" -- '*.cpp' '*.hpp'
    git ls-files --others --exclude-standard -- '*.cpp' '*.hpp'; } | sort -u | sed "s,^,$root/," >"$folder/changed.txt"
  cut -f 1 "$folder/commands.txt" | sort >"$folder/known.txt"
  sources=$(grep '\.cpp$' "$folder/changed.txt" | sort | comm -12 - "$folder/known.txt") || sources=
  headers=$(grep '\.hpp$' "$folder/changed.txt" | grep -E "^$root/(engine|grader|tests)/") || headers=
  differ=$(printf '%s\n' $sources $headers | grep -c .) || :
  sources=$(printf '%s\n' $sources | grep . | some "$changed_max") || :
  headers=$(printf '%s\n' $headers | grep . | some "$changed_max") || :
  # Of one file, both tools say the same of what does not compile, so the analyzer goes first and last.
  thorough=$(printf '%s\n' $sources | head -n "$analysed")
  quick=$(printf '%s\n' $sources | tail -n +"$((analysed + 1))")
  tidied bugprone-use-after-move,clang-analyzer-core*,clang-analyzer-cplusplus* $thorough
  tidied bugprone-use-after-move $quick
  for file in $headers; do
    beside=$(grep "^${file%/*}/[^/]*	" "$folder/commands.txt" | head -n 1) || beside=
    [ -n "$beside" ] || beside=$(head -n 1 "$folder/commands.txt")
    command=${beside#*"	"}
    ended=0
    (cd "$folder" && echo "#include \"${file#"$root"/}\"" | eval "${command%% -o *} -fsyntax-only $strict $old -x c++ -") >"$folder/said" 2>&1 || ended=$?
    result "$file" "$ended"
  done
  readers=$(for file in $headers; do grep -rlF --include='*.cpp' "#include \"${file#"$root"/}\"" "$root/engine" "$root/grader" "$root/solutions" "$root/tests" || :; done |
    sort -u | comm -12 - "$folder/known.txt" | comm -23 - "$folder/changed.txt" | some "$readers_max")
  [ -z "$readers" ] || with_library
  for file in $readers; do syntax "$file" "$library"; done
  seen=$(printf '%s\n' $sources $headers | grep -c .) || :
  said="clang-tidy and clang read $seen of $differ sources and headers that differ from $(git rev-parse --short "$since")"
}

cd "$root"
if [ "$what" = commands ]; then
  read_commands
  exit
fi
git rev-parse --git-dir >/dev/null 2>&1 || { echo "SKIPPED: without git's history, nothing says what differs"; exit 77; }
turn=$(number)
mkdir -p "$folder/$what"
cp "$folder/commands.txt" "$folder/$what/"
folder=$folder/$what
case $what in
  changed) read_changed ;;
  share) read_share ;;
esac
echo "$said" | tee "$folder/said.txt"
[ "$failed" = 0 ] || { echo "$failed of them have errors"; exit 1; }
