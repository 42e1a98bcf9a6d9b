# ./lab docs: lessons, tasks, documents and headers as a web site, by Doxygen. docs/site/ has what it
# looks like; here the pages that follow from the tree are made, and the order in which all are shown.

docs_help() {
  cat <<'TEXT'
usage: ./lab docs [--open]

Writes the documentation as a web site to build/docs/html and prints the path of its first page.
The site needs no network and no server.

  --open    also opens it in a browser
TEXT
}

lab_docs() {
  case ${1:-} in
    "" | --open) ;;
    --help | -h) docs_help; exit 0 ;;
    *) fail 2 "docs has no option '$1'; see ./lab docs --help" ;;
  esac
  install_packages $packages_docs
  cd "$root"
  made=build/docs/made
  rm -rf build/docs/html "$made"
  mkdir -p "$made"
  make_room_pages
  make_parts_page >"$made/parts.md"
  make_file_pages
  make_kill_page
  make_pipelines_page
  "$bin/lab-dev" dev predictions "$made/predictions"
  site_layout >"$made/layout.xml"
  doxygen docs/site/Doxyfile >build/docs/doxygen.log 2>&1 && ! grep -qE 'warning|error' build/docs/doxygen.log || {
    grep -E 'warning|error|not understood' build/docs/doxygen.log | head -n 20 >&2
    fail 1 "the documentation has warnings, which count as errors; the whole log is in build/docs/doxygen.log"
  }
  finish_looks
  echo "$root/build/docs/html/index.html"
  [ "${1:-}" != --open ] || xdg-open "$root/build/docs/html/index.html" 2>/dev/null ||
    fail 3 "no program here opens the page (install xdg-utils and a browser); open it yourself"
}

site_texts() {
  find "$root" -maxdepth 1 -name '*.md'
  find "$root/docs" "$root/engine" "$root/grader" "$root/lessons" "$root/exercises" -name '*.md' | sort
}

# The kill matrices of all exercises that are proved here, with the totals.
make_kill_page() {
  ready
  build lab-dev
  "$bin/lab-dev" dev matrix --page "$made/kill_matrix.md" >/dev/null
}

# Schedules of pipelines for p, m and v to choose; finish_looks copies its pictures.
make_pipelines_page() {
  build schedules
  sh docs/site/pipelines.sh "$bin/schedules" "$made/pipelines" >"$made/pipelines.md"
}

# What texts link to and no page shows yet: a page for each such file, and a list of figures.
make_file_pages() {
  awk -v root="$root" -v needs="$made/needs" -f docs/site/pages.awk $(site_texts) >/dev/null
  sort -u "$made/needs" | sed -n 's/^file //p' | while read -r file; do
    page=$made/$(printf 'file_%s' "$file" | tr -c 'A-Za-z0-9' _).md
    printf '# %s\n\n@includelineno %s\n' "$file" "$file" >"$page"
  done
}

finish_looks() {
  sort -u "$made/needs" | sed -n 's/^figure //p' | while read -r figure; do
    mkdir -p "build/docs/html/figures/${figure%/*}"
    cp "$figure" "build/docs/html/figures/$figure"
  done
  mkdir -p build/docs/html/figures
  cp -R "$made/pipelines" build/docs/html/figures
  cat docs/site/search.css >>build/docs/html/search/search.css
  cp "$(dpkg -L fonts-stix | grep '/STIXMath-Regular.otf$')" build/docs/html
}

# The rooms of the engine, bottom first, then those of the grader.
engine_rooms() {
  awk '/^set\(LOCKSTEP_FLOORS/ { on = 1 } on { print } on && /\)/ { exit }' cmake/rooms.cmake |
    sed 's/#.*//; s/set(LOCKSTEP_FLOORS//' | tr -d '")' | tr -s ' \n' '\n' | sed '/^$/d; s|^|engine/|'
}
grader_rooms() { find grader -name '*.hpp' | sed 's|/[^/]*$||' | sort -u; }
room_page() { printf 'room_%s' "$1" | tr '/' _; }

# One page a room: what it holds, and its headers, each with the first sentence of its comment.
make_room_pages() {
  for room in $(engine_rooms) $(grader_rooms); do
    {
      printf '# %s\n\n' "$room"
      awk -F '|' -v room="\`${room#engine/}\`" 'index($3, room) { gsub(/^ | $/, "", $4); print "Floor" $2 "of the engine: " $4 ".\n" }' docs/design.md
      printf '| header | |\n|---|---|\n'
      for header in $(find "$room" -maxdepth 1 -name '*.hpp' | sort); do
        printf '| [%s](@ref %s) | %s |\n' "${header##*/}" "$header" "$(first_sentence "$header")"
      done
    } >"$made/$(room_page "$room").md"
  done
}

first_sentence() {
  awk '!/^\/\// { exit } { sub(/^\/\/ ?/, ""); if ($0 == "" || /^ /) exit; text = text (text ? " " : "") $0 }
       END { if (match(text, /[.] /)) text = substr(text, 1, RSTART)
             sub(/[.:]$/, "", text); gsub(/[\\|@<>#&$%*_]/, "\\\\&", text); print text }' "$1"
}

title_of() { sed -n 's/^# *//p' "$1" | head -n 1 | sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g'; }
tab() { printf '<tab type="user" url="@ref %s" title="%s"/>\n' "$1" "$2"; }
group() { printf '<tab type="usergroup" url="@ref %s" title="%s">\n' "$1" "$2"; }
end_group() { printf '</tab>\n'; }

# The manifests of a lesson's exercises, in their order.
manifests_of() {
  for manifest in exercises/"$1"/*.toml; do
    [ -e "$manifest" ] || continue   # a lesson without exercises
    place=$(sed -n 's/^place = //p' "$manifest")
    [ -z "$place" ] || printf '%d %s\n' "$place" "$manifest"
  done | sort -k1n -k2 | cut -d ' ' -f 2
}

# Which part is where: contract, reference, lesson.
make_parts_page() {
  printf '# Parts\n\nWhat students build is declared in a header of the engine and defined in `solutions/`.\n\n'
  printf '| part | contract | reference | lesson |\n|---|---|---|---|\n'
  for folder in exercises/[0-9][0-9]_*; do
    lesson=${folder#exercises/}
    for manifest in $(manifests_of "$lesson"); do
      name=${manifest##*/}; name=${name%.toml}
      header=$(sed -n 's/^header = "\(.*\)"/\1/p' "$manifest")
      printf '| @ref task_%s "%s" | @ref %s | `solutions/%s/%s.cpp` | %.2s |\n' \
        "$name" "$name" "$header" "$lesson" "$name" "$lesson"
    done
  done
}

# The tree of pages, in the order in which they are read.
site_layout() {
  printf '<doxygenlayout version="1.0">\n<navindex>\n<tab type="mainpage" title="Lockstep"/>\n'
  group lessons Lessons
  for lesson in $(find lessons -mindepth 2 -name README.md | sort); do
    folder=${lesson%/README.md}; folder=${folder#lessons/}
    number=$(printf '%.2s' "$folder")
    group "lesson_$number" "$(title_of "$lesson")"
    for manifest in $(manifests_of "$folder"); do
      name=${manifest##*/}; name=${name%.toml}
      tab "task_$name" "$name"
    done
    [ ! -e "exercises/$folder/quiz.md" ] || tab "quiz_$number" quiz
    [ "$number" != 13 ] || tab pipelines "$(title_of "$made/pipelines.md")"
    end_group
  done
  end_group
  group engine "The engine, from the ground up"
  tab parts Parts
  for room in $(engine_rooms); do room_tabs "$room"; done
  end_group
  group grader "The grader"
  for room in $(grader_rooms); do room_tabs "$room"; done
  end_group
  group design "About the lab"
  for text in $(find docs -maxdepth 1 -name '*.md' | sort); do
    page=${text##*/}; page=${page%.md}
    case $page in glossary | sources) ;; *) tab "$page" "$(title_of "$text")" ;; esac
  done
  tab kill_matrix "$(title_of "$made/kill_matrix.md")"
  tab CONTRIBUTING "$(title_of CONTRIBUTING.md)"
  tab CHANGELOG "$(title_of CHANGELOG.md)"
  group decisions Decisions
  for decision in docs/decisions/0*.md; do
    number=${decision##*/}
    tab "decision_$(printf '%.4s' "$number")" "$(title_of "$decision")"
  done
  end_group
  end_group
  tab glossary Glossary
  tab sources Sources
  printf '<tab type="classindex" title="All types"/><tab type="namespacemembers" title="All functions"/>\n</navindex>\n'
  site_order
  printf '</doxygenlayout>\n'
}

room_tabs() {
  group "$(room_page "$1")" "${1#*/}"
  for header in $(find "$1" -maxdepth 1 -name '*.hpp' | sort); do tab "$header" "${header##*/}"; done
  end_group
}

# A header's page begins with its comment, which is its text.
site_order() {
  cat <<'XML'
<file><sourcelink/><detaileddescription title="About"/><memberdecl><classes/><structs/><concepts/><constantgroups/>
<defines/><typedefs/><enums/><functions/><variables/></memberdecl><memberdef><inlineclasses/><defines/><typedefs/>
<enums/><functions/><variables/></memberdef></file>
XML
}
