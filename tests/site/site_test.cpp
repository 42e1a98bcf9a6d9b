// ./lab docs, and what it made: every lesson, task and figure is there, every link leads somewhere,
// nothing comes from elsewhere.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "engine/base/temporary_folder.hpp"
#include "grader/course/compile/command.hpp"
#include "tests/catch.hpp"
#include "tests/site/site_text.hpp"

using namespace lockstep::site;
namespace fs = std::filesystem;

namespace {

const fs::path root = LOCKSTEP_ROOT;
const fs::path site = root / "build" / "docs" / "html";

// Once for all tests of this process.
const std::vector<Page>& built() {
  static const std::vector<Page> pages = [] {
    const std::string command =
        "cd '" LOCKSTEP_ROOT "' && ./lab --built '" LOCKSTEP_BUILD "' docs >build/docs.log 2>&1";
    INFO("build/docs.log and build/docs/doxygen.log tell more");
    REQUIRE(std::system(command.c_str()) == 0);
    return pages_of(site);
  }();
  return pages;
}

// Doxygen's own lists on the page of a type name places for friends and private types that it then
// leaves out: there only the file must exist.
bool of_header(const Page& page) {
  const std::string name = page.path.filename().string();
  return name.find("_8hpp") != name.npos || name.rfind("class", 0) == 0 ||
         name.rfind("struct", 0) == 0;
}

std::string text_of(const fs::path& page) {
  for (const Page& each : built()) {
    if (each.path == page) return each.text;
  }
  return "";
}

void has_a_title() {
  CHECK(text_of(site / "index.html").find("<title>Lockstep") != std::string::npos);
}

void shows_lessons() {
  built();
  std::ifstream tree_file(site / "navtreedata.js");
  const std::string tree{std::istreambuf_iterator<char>(tree_file), {}};
  int lessons = 0;
  for (const auto& entry : fs::directory_iterator(root / "lessons")) {
    if (!entry.is_directory()) continue;
    const std::string page = "lesson_" + entry.path().filename().string().substr(0, 2) + ".html";
    INFO(page);
    CHECK(text_of(site / page).find("<h1>") != std::string::npos);
    CHECK(tree.find("\"" + page + "\"") != std::string::npos);
    for (const auto& file : fs::directory_iterator(entry.path())) {
      if (file.path().extension() != ".svg") continue;
      const fs::path figure = "figures" / fs::relative(file.path(), root);
      INFO(figure.string());
      CHECK(fs::exists(site / figure));
      CHECK(text_of(site / page).find("src=\"" + figure.string() + "\"") != std::string::npos);
    }
    ++lessons;
  }
  CHECK(lessons >= 7);
}

void shows_tasks() {
  built();
  for (const auto& entry : fs::recursive_directory_iterator(root / "exercises")) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() != ".md" || stem == "common_hints" || stem == "README") continue;
    const std::string name = entry.path().stem().string();
    const std::string lesson = entry.path().parent_path().filename().string().substr(0, 2);
    const fs::path page =
        site / (name == "quiz" ? "quiz_" + lesson + ".html" : "task_" + name + ".html");
    INFO(page.string());
    CHECK(text_of(page).find("<summary>Hint 1") != std::string::npos);
  }
}

// How often `words` stand in a text.
int count_of(const std::string& words, const std::string& text) {
  int count = 0;
  for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++count;
  return count;
}

void asks_for_predictions() {
  built();
  CHECK(fs::exists(site / "predict.js"));
  for (const auto& entry : fs::directory_iterator(root / "lessons")) {
    std::ifstream file(entry.path() / "predict.toml");
    const std::string toml{std::istreambuf_iterator<char>(file), {}};
    const std::string page = "lesson_" + entry.path().filename().string().substr(0, 2) + ".html";
    INFO(page);
    if (!entry.is_directory()) continue;
    CHECK(count_of("<form class=\"predict\"", text_of(site / page)) ==
          count_of("\n[[run]]\n", "\n" + toml));
    CHECK(count_of("<script src=\"predict.js\">", text_of(site / page)) == 1);
  }
}

void draws_formulas() {
  CHECK(text_of(site / "lesson_05.html").find("<math display=\"block\">") != std::string::npos);
}

// A command of Doxygen's that a reader sees was swallowed by the words in front of it, with all
// that stands between.
void shows_no_command() {
  for (const Page& page : built()) {
    if (of_header(page)) continue;
    INFO(page.path.filename().string());
    for (const char* command : {"@ref ", "@anchor ", "htmlonly", "endcode"}) {
      CHECK(count_of(command, page.text) == 0);
    }
  }
}

void compares_pipelines() {
  built();
  CHECK(count_of("<img src=\"figures/pipelines/", text_of(site / "pipelines.html")) == 45);
  CHECK(text_of(site / "pipelines.html").find("href=\"lesson_13.html\"") != std::string::npos);
}

void leads_somewhere() {
  std::map<fs::path, std::set<std::string>> anchors;
  for (const Page& page : built()) {
    if (page.path.extension() == ".html") anchors[page.path] = anchors_of(page.text);
  }
  std::set<std::string> dead;
  for (const Page& page : built()) {
    for (const char* attribute : {"href", "src"}) {
      for (const std::string& target : values_of(page.text, attribute)) {
        if (target.find(':') != std::string::npos) continue;  // an address, or a script
        const auto hash = target.find('#');
        const std::string file = target.substr(0, hash);
        const fs::path there =
            file.empty() ? page.path : (page.path.parent_path() / file).lexically_normal();
        const std::string place = hash == std::string::npos ? "" : target.substr(hash + 1);
        const bool found =
            fs::exists(there) && (place.empty() || of_header(page) || !anchors.contains(there) ||
                                  anchors.at(there).contains(place));
        if (!found) dead.insert(page.path.filename().string() + " → " + target);
      }
    }
  }
  for (const std::string& link : dead) UNSCOPED_INFO(link);
  CHECK(dead.empty());
}

void loads_nothing() {
  for (const Page& page : built()) {
    INFO(page.path.filename().string());
    CHECK(loaded_from_elsewhere(page) == std::vector<std::string>{});
  }
}

// What Doxygen is given of a lesson with this text.
std::string converted(const std::string& text) {
  const lockstep::TemporaryFolder folder("site");
  const fs::path lesson = folder.path() / "lessons" / "99_made_up";
  fs::create_directories(lesson);
  std::ofstream(lesson / "README.md") << text;
  const auto awk = lockstep::grader::run_command(
      {"awk", "-v", "root=" + folder.path().string(), "-f", LOCKSTEP_ROOT "/docs/site/pages.awk",
       (lesson / "README.md").string()},
      folder.path(), {});
  REQUIRE(awk.exit_code == 0);
  return awk.output;
}

}  // namespace

// One test, since the site is built once.
TEST_CASE("the site: it is built without a warning, complete, and needs nothing from elsewhere") {
  SECTION("it is built without a warning, and its first page has a title") { has_a_title(); }
  SECTION("every lesson is a page in the tree, with its figures") { shows_lessons(); }
  SECTION("every task is a page, whose hints are folded") { shows_tasks(); }
  SECTION("each run that is to be predicted has its form") { asks_for_predictions(); }
  SECTION("a reader sees no command of Doxygen's") { shows_no_command(); }
  SECTION("a formula is drawn by the browser itself") { draws_formulas(); }
  SECTION("schedules of pipelines can be compared") { compares_pipelines(); }
  SECTION("links lead to pages and places that are there") { leads_somewhere(); }
  SECTION("nothing is loaded from elsewhere") { loads_nothing(); }
}

TEST_CASE("the site: a link or a code span that the next line ends is put on one line") {
  CHECK(converted("See [the\n  lesson](../02_x/README.md), and\nmore.\n") ==
        "See [the lesson](@ref lesson_02), and\nmore.\n");
  CHECK(converted("Run `./lab\ndocs` and [the\nlesson](../02_x/README.md).\n") ==
        "Run `./lab docs` and [the lesson](@ref lesson_02).\n");
  const std::string intervals = "Of [0, 2) and `[1, 3)`,\nof [4,\n5] and [6, 7)\n\n(no link).\n";
  CHECK(converted(intervals) == intervals);
  CHECK(converted("```text\n[a\nb](c) `d\n`\n```\n") ==
        "\n```{.unparsed}\n[a\nb](c) `d\n`\n```\n\n");
}

TEST_CASE("the site: a code span with an apostrophe gets two backticks") {
  CHECK(converted("`'*/05'` and `05`\n") == "``'*/05'`` and `05`\n");
}
