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

# The system, packages, the compiler, and once after unpacking whether all files are whole.
ready() {
  [ -w "$root" ] ||
    fail 3 "$root is not yours to write to. Unpack the archive in a folder of yours and type ./lab start there"
  same_system
  packages_known || ensure_packages
  same_compiler
  digest=$(edition_says digest)
  seen=
  [ ! -r "$root/build/unpacked" ] || read -r seen <"$root/build/unpacked" || :
  [ "$seen" = "$digest" ] || files_whole
}

same_system() {
  here="$(. /etc/os-release; echo "$ID ${VERSION_ID:-}")"
  [ "$(edition_says system)" = "$here" ] || wrong_system "$here"
}

same_compiler() {
  command -v c++ >/dev/null || fail 3 "this edition of the lab needs g++: apt-get install g++"
  compiler="$(c++ -dumpfullversion) $(c++ -dumpmachine)"
  [ "$(edition_says compiler)" = "$compiler" ] || wrong_system "$here, g++ $compiler"
}

wrong_system() {
  fail 3 "this edition of the lab was made for another system or compiler, and its objects fit no other. It was made for: $(edition_says system), g++ $(edition_says compiler). This machine has: $1. Ask your instructor for the edition for your system, or use the system that it was made for, in a container"
}

# An edition that was unpacked over another one has what the other one made of students' files.
files_whole() {
  (cd "$root" && sha256sum build/release/sums | grep -q "^$digest " &&
    sha256sum --check --quiet build/release/sums && forget_players) >"$root/build/unpacked.log" 2>&1 ||
    fail 3 "files of this edition are missing or damaged (build/unpacked.log says which). Compare the archive with its digest (sha256sum --check FILE.tar.gz.sha256), fetch it again if it differs, see that the disk is not full, and unpack it again. Your files in work/ stay as they are"
  printf '%s\n' "$digest" >"$root/build/unpacked"
}

forget_players() {
  sed 's/^[^ ]*  //' build/release/sums >build/unpacked.files
  find build/release/students -type f | grep -vxF -f build/unpacked.files | while IFS= read -r file; do
    rm "$file"
  done
}
