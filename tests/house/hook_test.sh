#!/bin/sh
# hook_test.sh ROOT TEST_HOUSE : commits to a copy of the sources with setup/hooks/pre-commit switched
# on, which must let good changes pass and refuse bad ones. 77: there is no git or no clang-format.
set -eu
root=$1 test_house=$2
for program in git clang-format; do
  command -v $program >/dev/null || { echo "SKIPPED: $program is not installed"; exit 77; }
done
clone=$(mktemp -d)
said=$clone.said
trap 'rm -rf "$clone" "$said"' EXIT
cd "$root"
cp -R --parents .clang-format .gitignore cmake/rooms.cmake docs/gpu.md setup/hooks engine grader solutions \
  exercises tests/house tests/base "$clone"
cd "$clone"
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@localhost
git init -q .
git config core.autocrlf false
git add -A
git commit -q -m begin
git config core.hooksPath setup/hooks

fail() { echo "FAILED: $*"; cat "$said"; exit 1; }
# commits TITLE : what git says is in the file $said.
commits() { git commit -q -a -m "$1" >"$said" 2>&1; }
says() { grep -qF -- "$1" "$said" || fail "the hook does not say: $1"; }
edit() { printf '%s\n' "$2" >>"$1"; }

edit engine/base/text.cpp "// Nothing is built here."
commits "without a build" || fail "a good change is refused without a build"
says "skipped: floors, budgets, habits"
says "skipped: manifests and stubs"

mkdir -p build/release/bin
ln -s "$test_house" build/release/bin/test_house
edit engine/base/text.cpp "// Staged."
git add engine/base/text.cpp
edit engine/base/text.cpp "int   twice( int x ){return 2*x ;}"
git commit -q -m "what is staged is judged" >"$said" 2>&1 || fail "a good change is refused, or what is not staged is judged"
! grep -q "floors" "$said" || fail "the floors are skipped although test_house is there"
git checkout -q HEAD -- engine

edit engine/base/text.cpp "int   twice( int x ){return 2*x ;}"
edit engine/base/bytes.cpp '#include "engine/comm/work.hpp"'
! commits "bad format, and an include that goes upward" || fail "both are committed"
says "engine/base/text.cpp:"
says "./lab dev format"
says "engine/base/bytes.cpp:"
says "room base (floor 0) may not include engine/comm/"
git checkout -q HEAD -- engine

edit cmake/rooms.cmake "# A rule more."
commits "rules" || fail "a change of the rules is refused"
says "their rules change with this commit"
