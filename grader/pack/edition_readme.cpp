#include "grader/pack/edition_readme.hpp"

#include <algorithm>
#include <iterator>
#include <regex>
#include <sstream>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::grader {
namespace {

constexpr const char* about_the_edition =
    "This is the *students' edition*: everything is built already, for the system and the compiler "
    "that the file\n`edition` names. It has no references and no exams to read.";

// A block stands between two empty lines; a code block is one, with the empty lines in it.
using Block = std::vector<std::string>;

bool is_fence(const std::string& line) { return line.starts_with("```"); }
bool is_row(const std::string& line) { return line.starts_with("|"); }
// 1 for "# ", 2 for "## "; 0: no heading.
std::size_t level_of(const Block& block) { return block.front().find_first_not_of('#'); }
bool begins_item(const std::string& line) {
  return std::regex_search(line, std::regex("^(\\d+\\.|[-*]) "));
}

std::vector<Block> blocks_of(const std::string& text) {
  std::vector<Block> all;
  bool fenced = false, goes_on = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() && !fenced) {
      goes_on = false;
      continue;
    }
    if (!goes_on) all.emplace_back();
    goes_on = true;
    all.back().push_back(line);
    if (is_fence(line)) fenced = !fenced;
  }
  return all;
}

using Keeps = std::function<bool(const std::string& text)>;

// Returns what is left of a block.
Block left_of(const Block& block, const Keeps& keeps) {
  Block left;
  if (is_row(block.front()) || is_fence(block.front())) {
    std::ranges::copy_if(block, std::back_inserter(left), keeps);
    const std::size_t frame = 2;  // the head of a table, or both fences
    return left.size() > frame ? left : Block{};
  }
  for (std::size_t first = 0, end = 0; first < block.size(); first = end) {
    std::string item = block[end++];
    while (end < block.size() && !begins_item(block[end])) item += "\n" + block[end++];
    if (keeps(item)) left.push_back(item);
  }
  return left;
}

}  // namespace

std::set<std::string> refused_commands(const std::string& edition_sh) {
  std::smatch line;
  if (!std::regex_search(edition_sh, line, std::regex("(?:^|\n)refused=\"([^\"]+)\""))) {
    throw UsageError("setup/edition.sh has no line refused=\"…\", which names what it refuses");
  }
  std::istringstream words(line.str(1));
  std::set<std::string> all;
  for (std::string word; words >> word;) all.insert(word);
  return all;
}

std::string readme_of_edition(const std::string& readme, const std::set<std::string>& refused,
                              const std::function<bool(const std::string&)>& has) {
  const std::regex typed("\\./lab ([a-z]+)"), link("\\]\\(([^)#:]+)[^):]*\\)"),
      folder("^\\| `([a-z]+/)` \\|");
  const Keeps keeps = [&](const std::string& text) {
    const auto all = [&](const std::regex& pattern, const auto& is) {
      return std::all_of(std::sregex_iterator(text.begin(), text.end(), pattern),
                         std::sregex_iterator(),
                         [&](const std::smatch& found) { return is(found.str(1)); });
    };
    return all(typed, [&](const std::string& one) { return !refused.contains(one); }) &&
           all(link, has) && all(folder, has) && text.find("--paper") == std::string::npos;
  };
  std::vector<Block> kept;
  for (const Block& block : blocks_of(readme)) {
    Block left = left_of(block, keeps);
    if (left.empty()) continue;
    // A section of which nothing is left ends with a heading of its level or above.
    while (level_of(left) > 0 && !kept.empty() && level_of(kept.back()) >= level_of(left)) {
      kept.pop_back();
    }
    kept.push_back(std::move(left));
    if (kept.size() == 1) kept.push_back({about_the_edition});
  }
  while (!kept.empty() && level_of(kept.back()) > 0) kept.pop_back();
  std::string out;
  for (const Block& block : kept) {
    out += out.empty() ? "" : "\n";
    for (const std::string& line : block) out += line + "\n";
  }
  return out;
}

}  // namespace lockstep::grader
