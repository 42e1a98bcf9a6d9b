# Turns a text of the repository into what Doxygen makes a page of. The text stays as every Markdown
# reader shows it; what differs in Doxygen is done here:
#   - the page gets a name that depends on its path only (page_of), and links lead to pages
#   - links within the page lead to its headings
#   - links to headers lead to their documentation, links to other files to a page that shows them
#   - code blocks get a language, and those that quote a file say which
#   - ```math blocks become MathML, which browsers draw without any help
#   - figures are copied by the caller to figures/, with their folders
#   - keys of sources, [PY09 §2], lead to the list of sources
#   - the hints of a task are folded
#   - a link or a code span that the next line ends is put on one line: Doxygen 1.9 ends the words of a
#     link at the line, and takes all up to the next quotation mark for words
#   - a run that is to be predicted gets its form before the output and why behind it, which
#     ./lab dev predictions has written to build/docs/made/predictions
# Called as: awk -v root=/path/of/repository -f docs/site/pages.awk FILE
# With -v needs=LIST and any number of files, LIST gets what their pages need beside themselves:
# lines "figure PATH" and "file PATH".
function folder_of(path) { return path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "" }

# "lessons/01_x" and "../../docs/a.md" → "docs/a.md"
function resolved(folder, target,    parts, n, i, kept, path) {
  n = split((folder == "" ? "" : folder "/") target, parts, "/")
  kept = 0
  for (i = 1; i <= n; i++) {
    if (parts[i] == "..") kept--
    else if (parts[i] != "." && parts[i] != "") kept_parts[++kept] = parts[i]
  }
  for (i = 1; i <= kept; i++) path = path (i > 1 ? "/" : "") kept_parts[i]
  return path
}

function page_of(path,    name) {
  if (path == "README.md") return "index"
  if (path == "docs/decisions/README.md") return "decisions"
  if (match(path, /^lessons\/[0-9]+_/)) return "lesson_" substr(path, 9, 2)
  if (match(path, /\/README\.md$/)) { name = substr(path, 1, RSTART - 1); gsub(/\//, "_", name); return name }
  if (match(path, /^exercises\/[0-9]+_[^\/]*\/quiz\.md$/)) return "quiz_" substr(path, 11, 2)
  if (path ~ /^exercises\//) name = "task/" path; else name = path
  sub(/\.md$/, "", name)
  sub(/^task\/.*\//, "task_", name)
  sub(/^.*\//, "", name)
  if (name ~ /^[0-9]+-/) name = "decision_" substr(name, 1, 4)
  return name
}

function page_of_file(path) { gsub(/[^A-Za-z0-9]/, "_", path); return "file_" path }

function html_text(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/"/, "\\&quot;", text); return text }

# The name that a heading has for links within its page, as on GitHub.
function slug_of(heading) {
  heading = tolower(heading)
  gsub(/[^a-z0-9 _-]/, "", heading)
  gsub(/ /, "-", heading)
  return heading
}

# The headings that the page links to, which get a name, and the lines that go on in the next one.
function read_ahead(    line, number, text, in_block) {
  split("", linked)
  split("", goes_on)
  while ((getline line <FILENAME) > 0) {
    number++
    if (line ~ /^```/) in_block = !in_block
    if (in_block || line ~ /^```/) text = ""
    else if (begins_in(text, line)) { goes_on[number - 1]; text = text " " line }
    else text = line
    while (match(line, /\]\(#[^) ]+\)/)) {
      linked[substr(line, RSTART + 3, RLENGTH - 4)] = 1
      line = substr(line, RSTART + RLENGTH)
    }
  }
  close(FILENAME)
}

# Whether a code span or a link begins in this text that the next line ends.
function begins_in(text, next_line) {
  gsub(/`[^`]*`/, "", text)
  return (text ~ /`/ && next_line ~ /`/) || (text ~ /\[[^]]*$/ && next_line ~ /^[^][]+\]\(/)
}

# Where a link of this page leads.
function led(target,    path) {
  if (target ~ /:\/\//) return target
  if (target ~ /^#/) return "@ref " page "_" substr(target, 2)
  sub(/#.*/, "", target)
  path = resolved(folder, target)
  if (path ~ /\.md$/) return "@ref " page_of(path)
  if (path ~ /^(engine|grader)\/.*\.hpp$/) return "@ref " path
  if (needs) print "file " path >needs
  return "@ref " page_of_file(path)
}

function as_it_is(markup) { return "\n\\htmlonly[block]" markup "\\endhtmlonly\n" }

function figure(alt, target,    path) {
  path = resolved(folder, target)
  if (needs) print "figure " path >needs
  alt = html_text(alt)
  return as_it_is("<figure><a href=\"figures/" path "\"><img src=\"figures/" path "\" alt=\"" alt \
                  "\"/></a><figcaption>" alt "</figcaption></figure>")
}

# A stretch of prose without code spans.
function prose(text,    done, key, rest, at, end) {
  while (match(text, /\]\([^) ]+\)/)) {
    at = RSTART
    end = RSTART + RLENGTH
    done = done substr(text, 1, at + 1) led(substr(text, at + 2, end - at - 3)) ")"
    text = substr(text, end)
  }
  text = done text
  gsub(/file:/, "file\\&zwj;:", text)  # no address
  done = ""
  while (match(text, /\[[A-Z][A-Z0-9]+(\]| |,|$)/)) {
    key = substr(text, RSTART + 1, RLENGTH - 1)
    sub(/[^A-Z0-9].*/, "", key)
    rest = substr(text, RSTART + 1 + length(key))
    done = done substr(text, 1, RSTART - 1)
    if (!(key in keys) || rest ~ /^\]\(/) done = done "[" key
    else if (path == "docs/sources.md" && text ~ /^\| \[/) done = done "@anchor source_" key " [" key
    else done = done "[<a href=\"sources.html#source_" key "\">" key "</a>"
    text = rest
  }
  return done text
}

# A line, of which `code spans` stay as they are; with an apostrophe inside, Doxygen wants two backticks.
function line_of(text,    parts, n, i, done, at, tick) {
  if (text ~ /^!\[.*\]\([^)]*\)$/) {
    at = index(text, "](")
    return figure(substr(text, 3, at - 3), substr(text, at + 2, length(text) - at - 2))
  }
  n = split(text, parts, "`")
  for (i = 1; i <= n; i++) {
    if (i % 2 || i == n) { done = done prose(parts[i]) (i % 2 ? "" : "`"); continue }
    tick = parts[i] ~ /'/ ? "``" : "`"
    done = done tick parts[i] tick
  }
  return done
}

function formula(tex,    command, line, markup, inside) {
  gsub(/'/, "'\\''", tex)
  command = "printf '%s' '\\displaystyle " tex "' | blahtexml --mathml --mathml-encoding numeric"
  while ((command | getline line) > 0) {
    if (line == "<markup>") inside = 1
    else if (line == "</markup>") inside = 0
    else if (inside) markup = markup line
  }
  close(command)
  gsub(/>-</, ">−<", markup)
  if (markup == "") print "a formula of " path " is not understood: " tex >"/dev/stderr"
  return as_it_is("<div class=\"formula\"><math display=\"block\">" markup "</math></div>")
}

# What an exercise's manifest says; "" for a quiz, which has none.
function contract_of(manifest,    line, value) {
  while ((getline line <manifest) > 0) {
    if (line ~ /^header = /) { split(line, value, "\""); close(manifest); return value[2] }
  }
  close(manifest)
  return ""
}

# Where a task belongs to, and where its contract stands.
function task_line(    exercise, header) {
  exercise = substr(path, 11, length(path) - 13)
  header = contract_of(root "/exercises/" exercise ".toml")
  return "\n[Lesson " substr(exercise, 1, 2) "](@ref lesson_" substr(exercise, 1, 2) ")" \
         (header == "" ? "" : " · contract [" header "](" led_from_root(header) ")") \
         " · your file is `work/" exercise (header == "" ? ".toml" : ".cpp") "`\n"
}

# What stands before and behind the output of this lesson's last run, if it is to be predicted.
function read_prediction(    file) {
  ask = why = ""
  file = root "/build/docs/made/predictions/" substr(path, 9, 2) "." runs ".html"
  if ((getline ask <file) > 0) getline why <file
  close(file)
}

function begin_block(info,    language) {
  if (info == "sh run" && page ~ /^lesson_/) { runs++; awaits_output = 1 }
  else if (info == "text" && awaits_output) { awaits_output = 0; read_prediction(); if (ask) print as_it_is(ask) }
  else awaits_output = 0
  print ""
  if (match(info, /file=[^ ]+/)) {
    language = substr(info, RSTART + 5, RLENGTH - 5)
    print "<div class=\"quoted\">[" language "](" led_from_root(language) ")</div>\n"
  }
  language = info ~ /^cpp/ ? ".cpp" : info ~ /^python/ ? ".py" : info ~ /^sh/ ? ".sh" : ".unparsed"
  print "```{" language "}"
}

# The first page shows the lessons before it says how to go through them.
function list_of_lessons(    line) {
  print "## The lessons\n"
  folder = "lessons"
  while ((getline line <(root "/lessons/README.md")) > 0) if (line ~ /^\|/) print line_of(line)
  folder = ""
  print ""
}

function led_from_root(target,    kept, where) {
  kept = folder
  folder = ""
  where = led(target)
  folder = kept
  return where
}

BEGIN {
  while ((getline line <(root "/docs/sources.md")) > 0) {
    if (match(line, /^\| \[[A-Z0-9]+\]/)) keys[substr(line, 4, RLENGTH - 4)] = 1
  }
}

FNR == 1 {
  path = substr(FILENAME, length(root) + 2)
  folder = folder_of(path)
  page = page_of(path)
  titled = hints = runs = awaits_output = 0
  ask = why = ""
  block = held = ""
  read_ahead()
}

block == "" && FNR in goes_on { held = held $0 " "; next }
held != "" { sub(/^ +/, ""); $0 = held $0; held = "" }

/^```/ {
  if (block == "") {
    block = $0 == "```math" ? "math" : "code"
    tex = ""
    if (block == "code") begin_block(substr($0, 4))
  } else {
    print block == "math" ? formula(tex) : "```\n"
    if (why) print as_it_is(why)
    ask = why = ""
    block = ""
  }
  next
}
block == "math" { tex = tex " " $0; next }
block == "code" || /^    / { print; next }

/^# / && !titled { titled = 1; print $0 (page == "index" ? "" : " {#" page "}"); if (page ~ /^lesson_/) print "\n[TOC]\n"; if (path ~ /^exercises\/[0-9]/) print task_line(); next }

/^## Hint/ && path ~ /^exercises\// {
  if (hints++) print as_it_is("</details>")
  print as_it_is("<details><summary>" html_text(substr($0, 4)) "</summary>")
  next
}

page == "index" && $0 == "## The way through" { list_of_lessons() }

/^##/ {
  heading = $0
  sub(/^#+ */, "", heading)
  heading = slug_of(heading)
  if (heading in linked) { before = $0; print line_of($0) " {#" page "_" heading "}"; next }
}

/^What you will be able to say/ { print "" }

# A number at the beginning of a line that no list has reached is part of a sentence.
match($0, /^ *[0-9]+\. /) {
  number = substr($0, 1, RLENGTH - 2) + 0
  if (number == 1 || number == last_number + 1 || before == "") last_number = number
  else sub(/\. /, "\\\\. ")
}

{ before = $0; print line_of($0) }
END { if (hints) print as_it_is("</details>") }
