// The corpus as one class: each hostile file is a student's, and all are graded in one run of
// ./lab grade. Every one must get the row that its first lines say, and nothing may be left behind.
// Answers that get the same row in the sandbox as outside are left out: each is judged by itself
// (hostile_answer.cpp).
//
//   hostile_class LAB-TOOL ROOT FOLDER…      grades what lies in the folders
//   hostile_class --every LAB-TOOL ROOT FOLDER…   grades all of it, as LOCKSTEP_AFRESH=yes does
//   hostile_class --table ROOT FOLDER…       prints docs/hostile.md
//   hostile_class --fresh ROOT FOLDER…       fails when that page is another
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "grader/course/compile/command.hpp"
#include "tests/course/scratch.hpp"
#include "tests/hostile/hostile_file.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int skipped = 77;  // what CMake is told to take for a skipped test
constexpr double deadline_s = 600;

std::vector<fs::path> sources_in(const std::vector<fs::path>& folders) {
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".cpp") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What the comment after the keys says the file does.
std::string what_it_does(const std::string& content) {
  std::istringstream lines(content);
  std::string what;
  for (std::string line; std::getline(lines, line) && line.starts_with("//");) {
    if (line == "// clang-format off") continue;
    const std::size_t colon = line.find(": ");
    const std::set<std::string> keys{"exercise", "verdict", "says", "sandboxed", "then", "unseen"};
    const std::string key = line.substr(3, line.find(':') - 3);
    if (colon != std::string::npos && keys.contains(key)) continue;
    if (line.find(':') != std::string::npos && keys.contains(key)) continue;
    what += (what.empty() ? "" : " ") + line.substr(3);
  }
  return what;
}

std::string table_of(const fs::path& root, const std::vector<fs::path>& folders) {
  std::string out =
      "# Hostile files\n\n"
      "Each test run judges the files of the first table one by one, and grades those of the "
      "second as one class, with\nthose of the first whose verdict differs there. Each must get "
      "this verdict and leave nothing behind. In the second\ntable, `pass` means that the attack "
      "was refused, did no harm, and the right answer after it was judged as usual.\n"
      "`hostile_class --table . tests/hostile/answers tests/hostile/sandboxed` writes this page.\n";
  for (const fs::path& folder : folders) {
    const std::string where = folder.filename();
    const bool open = where == "answers";
    out += open ? "\n## Answers that `check` and `grade` judge\n\n"
                  "| file | what it does | `check` | `grade` |\n|---|---|---|---|\n"
                : "\n## Attacks that need the sandbox\n\n"
                  "| file | what it does | `grade` |\n|---|---|---|\n";
    for (const fs::path& file : sources_in({folder})) {
      const test::HostileFile hostile(file, root);
      out += "| [" + hostile.name + "](../tests/hostile/" + where + "/" + hostile.name +
             ".cpp) | " + what_it_does(read_text(file)) + " | " +
             (open ? hostile.verdict + " | " : "") + hostile.sandboxed + " |\n";
    }
  }
  return out;
}

// The row of the exercise in the student's report.
json row_of(const fs::path& out, const std::string& student, const std::string& exercise) {
  const auto report = json::parse(read_text(out / "students" / (student + ".json")));
  for (const json& row : report.at("rows")) {
    if (row.at("exercise").get<std::string>().ends_with("/" + exercise)) return row;
  }
  throw Error("there is no row of " + student);
}

enum class Graded : std::uint8_t { what_needs_a_class, every_file };

int grade(const std::string& tool, const fs::path& root, const std::vector<fs::path>& folders,
          Graded graded) {
  test::adopt_orphans();
  const test::Scratch scratch;
  const Course course = read_course(root / "exercises" / "course.toml");
  std::vector<test::HostileFile> corpus;
  std::string exercises;
  for (const fs::path& file : sources_in(folders)) {
    const test::HostileFile hostile(file, root);
    const bool alone = file.parent_path().filename() == "answers" && !hostile.differs_in_a_class;
    if (alone && graded == Graded::what_needs_a_class) continue;
    corpus.push_back(hostile);
    const Exercise& part = exercise_named(course, hostile.exercise);
    write_text(scratch.path() / "class" / hostile.name / part.file(), hostile.content);
    exercises += hostile.exercise + ",";
  }
  const fs::path out = scratch.path() / "out";
  // With the limits that a class has. On a busy machine, all memory is not taken within a shorter
  // time without a call, and the verdict is another one.
  const CommandResult result =
      run_command({tool, "grade", (scratch.path() / "class").string(), "--out", out.string(),
                   "--exercises", exercises},
                  root, {.deadline_s = deadline_s, .work_s = 3 * deadline_s});
  std::cout << result.output;
  if (result.exit_code == 3) return skipped;
  if (result.timed_out) throw Error("the class was not graded in time");
  int wrong = 0;
  for (const test::HostileFile& hostile : corpus) {
    const json row = row_of(out, hostile.name, hostile.exercise);
    const std::string verdict = row.at("verdict"), message = row.value("message", "");
    const bool as_said = message.find(hostile.says_sandboxed) != std::string::npos;
    const bool earns = verdict == "pass" || verdict == "efficiency";
    const bool points = (row.at("points") == 0) == !earns;
    if (verdict == hostile.sandboxed && as_said && points) continue;
    ++wrong;
    std::cout << hostile.name << ": '" << verdict << "', not '" << hostile.sandboxed
              << "': " << message << "\n";
  }
  std::cout << corpus.size() - static_cast<std::size_t>(wrong) << " of " << corpus.size()
            << " hostile files got the row they should\n";
  if (!test::nothing_left_behind()) {
    std::cout << "a process was left behind\n";
    ++wrong;
  }
  return wrong == 0 && result.exit_code == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool asked = argc > 1 && std::string(argv[1]) == "--every";
  const bool every = asked || std::getenv("LOCKSTEP_AFRESH") != nullptr;  // ./lab test --afresh
  if (asked) ++argv, --argc;
  if (argc < 4) {
    std::cerr << "usage: hostile_class [--every] LAB-TOOL|--table|--fresh ROOT FOLDER…\n";
    return 2;
  }
  const std::vector<fs::path> folders(argv + 3, argv + argc);
  try {
    const std::string first = argv[1];
    const fs::path root = argv[2];
    if (first == "--table") {
      std::cout << table_of(root, folders);
      return 0;
    }
    if (first != "--fresh") {
      return grade(first, root, folders, every ? Graded::every_file : Graded::what_needs_a_class);
    }
    if (read_text(root / "docs/hostile.md") == table_of(root, folders)) return 0;
    std::cerr << "docs/hostile.md is stale: hostile_class --table . tests/hostile/answers "
                 "tests/hostile/sandboxed > docs/hostile.md\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "hostile_class: " << error.what() << "\n";
    return 1;
  }
}
