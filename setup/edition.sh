# The students' edition (./lab pack student): what ./lab does differently where the file `edition`
# lies. Nothing is built there but a student's own files, by the compiler that built the rest.
as_built=yes
building=
packages=$packages_edition

# Commands that need what the edition lacks. README.md of the edition (grader/pack/edition_readme.hpp) and
# ./lab help have none of them.
refused="test bench gpu setup docs dev grade pack"
left_out() {
  case " $refused " in
    *" $1 "*)
      fail 2 "this is the students' edition, which has no ./lab $1; the whole lab has it" ;;
  esac
}

# The list of commands without them, and without the headings below which nothing is left.
offered() {
  awk -v refused=" $refused " '
    BEGIN { RS = ""; FS = "\n"; ORS = "\n\n" }
    { kept = NF == 1; left = $1; drop = 0
      for (i = 2; i <= NF; i++) {
        if ($i ~ /^  [a-z]/) { split($i, words, " "); drop = index(refused, " " words[1] " ") > 0 }
        if (!drop) { left = left "\n" $i; kept = 1 }
      }
      if (kept) print left }'
}

# A line of the file: "system debian 12" → "debian 12".
edition_says() { sed -n "s/^$1 //p" "$root/edition"; }

# Packages, the compiler, and once after unpacking whether all files are whole.
ready() {
  packages_known || ensure_packages
  same_compiler
  [ "$root/build/unpacked" -nt "$root/edition" ] || files_whole
}

same_compiler() {
  command -v c++ >/dev/null || fail 3 "this edition of the lab needs g++: apt-get install g++"
  built="$(edition_says system), g++ $(edition_says compiler)"
  here="$(. /etc/os-release; echo "$ID ${VERSION_ID:-}"), g++ $(c++ -dumpfullversion) $(c++ -dumpmachine)"
  [ "$built" = "$here" ] ||
    fail 3 "this edition of the lab was made for another system or compiler, and its objects fit no other. It was made for: $built. This machine has: $here. Ask your instructor for the edition for your system, or use the system that it was made for, in a container"
}

files_whole() {
  (cd "$root" && sha256sum build/release/sums | grep -q "^$(edition_says digest) " &&
    sha256sum --check --quiet build/release/sums) >"$root/build/unpacked.log" 2>&1 ||
    fail 3 "files of this edition are missing or damaged (build/unpacked.log says which); unpack the archive again"
  : >"$root/build/unpacked"
}
