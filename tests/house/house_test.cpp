// The house as it stands keeps its own rules.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "tests/catch.hpp"
#include "tests/house/budgets.hpp"
#include "tests/house/floors.hpp"
#include "tests/house/habits.hpp"
#include "tests/house/house_words.hpp"
#include "tests/house/names.hpp"

using namespace lockstep::house;

namespace {

const std::vector<std::string> product{"engine", "grader", "solutions", "exercises"};

template <typename Habit>
std::string all_complaints(const std::vector<std::string>& folders, Habit habit) {
  Complaints all;
  for (const Source& source : sources_under(folders)) {
    for (const std::string& one : habit(source)) all.push_back(one);
  }
  return joined(all);
}

// Files that bring numbers of a GPU to the host, a line each.
std::string readers_on_the_host() {
  std::string all;
  for (const Source& source : sources_under(product)) {
    if (source.path.starts_with("engine/tensor/") || source.path.starts_with("engine/gpu/")) {
      continue;
    }
    const auto reads = [](const std::string& line) {
      return code_of(line).find("to_host(") != std::string::npos;
    };
    if (std::ranges::any_of(source.lines, reads)) all += source.path + "\n";
  }
  return all;
}

// The files of a table of docs/gpu.md, sorted.
std::string listed_below(const std::string& heading) {
  std::ifstream page(root() / "docs/gpu.md");
  std::set<std::string> files;
  std::string line;
  while (std::getline(page, line) && line != heading) {
  }
  while (std::getline(page, line) && !line.starts_with("## ")) {
    if (line.starts_with("| `")) files.insert(line.substr(3, line.find('`', 3) - 3));
  }
  std::string all;
  for (const std::string& file : files) all += file + "\n";
  return all;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The files that `path` includes, and what these include. Their text is added to `all`.
void read_included(const std::string& path, std::set<std::string>& seen, std::string& all) {
  if (!std::filesystem::exists(root() / path) || !seen.insert(path).second) return;
  const std::string text = text_of(root() / path);
  all += text;
  for (const std::string& line : source_of(path, text).lines) {
    if (const auto next = included_by(line)) read_included(*next, seen, all);
  }
}

std::vector<std::string> found_in(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> all;
  for (std::sregex_iterator one(text.begin(), text.end(), regex), end; one != end; ++one) {
    all.push_back((*one)[1]);
  }
  return all;
}

// What the tables of a task have a student write, and the stub's includes do not bring: headers,
// and functions that are declared in none of them.
Complaints not_included(const std::filesystem::path& task) {
  auto stub = std::filesystem::relative(task, root());
  stub.replace_extension(".cpp");
  std::set<std::string> included;
  std::string declared;
  read_included(stub.string(), included, declared);
  Complaints all;
  for (const std::string& row : found_in(text_of(task), "(?:^|\n)(\\|[^\n]*)")) {
    for (const std::string& header : found_in(row, "(engine/[a-z0-9_/]+\\.hpp)")) {
      if (!included.contains(header)) all.push_back(stub.string() + " lacks " + header);
    }
    for (const std::string& code : found_in(row, "`([^`]+)`")) {
      if (code.find("std::") != std::string::npos) continue;
      for (const std::string& name : found_in(code, "(?:^|[^\\w.>:])(?:\\w+::)*([a-z]\\w*)\\(")) {
        if (declared.find(name) == std::string::npos) all.push_back(stub.string() + ": " + name);
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("the house: the sources are found") {
  CHECK(sources_under(product).size() > 30);
  CHECK(sources_under({"tests"}).size() > 5);
}

TEST_CASE("the house: no include goes upward, sideways or out of its room") {
  const Floors floors(LOCKSTEP_FLOORS, LOCKSTEP_INNER_FLOORS);
  CHECK(all_complaints(product, [&](const Source& source) {
          return forbidden_includes(floors, source);
        }) == "");
}

TEST_CASE("the house: no room is larger than its budget of lines") {
  const Budgets budgets(LOCKSTEP_LINES_MAX);
  CHECK(joined(budgets.complaints(sources_under({"engine", "grader"}))) == "");
}

TEST_CASE("the house: files are short and begin with their idea") {
  CHECK(all_complaints(product, too_long) == "");
  CHECK(all_complaints({"tests"}, too_long) == "");
  CHECK(all_complaints(product, no_opening_comment) == "");
}

TEST_CASE("the house: no state hides, and only the launcher reads the environment") {
  CHECK(all_complaints(product, hidden_state) == "");
  CHECK(all_complaints(product, reads_environment) == "");
}

TEST_CASE("the house: what is computed on the host for want of a CUDA kernel is in docs/gpu.md") {
  CHECK(readers_on_the_host() == listed_below("## What the host still does"));
}

TEST_CASE("the house: no bool parameters, nothing put off") {
  CHECK(all_complaints(product, bool_parameters) == "");
  CHECK(all_complaints(product, unfinished_words) == "");
}

TEST_CASE("the house: exams draw what no player can run backwards") {
  CHECK(all_complaints({"grader"}, drawn_backwards) == "");
}

TEST_CASE("the house: every program looks whether its output has arrived") {
  CHECK(all_complaints(product, unframed_main) == "");
}

TEST_CASE("the house: every test case has a name that ctest can list") {
  CHECK(all_complaints({"tests"}, unlistable_test_names) == "");
}

TEST_CASE("the house: a type's name is one in its room") {
  CHECK(joined(names_shared_in_rooms(sources_under({"engine", "grader"}))) == "");
}

TEST_CASE("the house: house words are types in one file each") {
  CHECK(joined(taken_house_words(sources_under({"engine", "grader"}), house_words(),
                                 house_word_exceptions())) == "");
}

TEST_CASE("the house: comments open with their subject, not as fragments") {
  CHECK(all_complaints({"engine", "grader"}, fragment_comments) == "");
}

TEST_CASE("the house: a stub includes what the tables of its task have a student write") {
  Complaints all;
  int tasks = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root() / "exercises")) {
    std::filesystem::path stub = entry.path();
    if (entry.path().extension() != ".md") continue;
    if (!std::filesystem::exists(stub.replace_extension(".cpp"))) continue;
    ++tasks;
    for (const std::string& one : not_included(entry.path())) all.push_back(one);
  }
  CHECK(tasks > 80);
  CHECK(joined(all) == "");
}
