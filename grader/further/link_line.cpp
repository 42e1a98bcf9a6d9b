#include "grader/further/link_line.hpp"

#include <algorithm>
#include <sstream>

#include "engine/base/error.hpp"

namespace lockstep::grader {
namespace {

// As CMake names objects: solutions/CMakeFiles/part_<name>.dir/<lesson>/<name>.cpp.o
bool is_reference_of(const Exercise& part, const std::string& word) {
  const std::string end = "part_" + part.name + ".dir/" + part.file() + ".o";
  const std::string dotted = "part_" + part.name + ".dir/./" + part.file() + ".o";
  return word.ends_with(end) || word.ends_with(dotted);
}

// ": && c++ … -o bin/train … && :" → the words between the shell's.
std::vector<std::string> link_words(const std::string& commands) {
  std::istringstream lines(commands);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" -o ") != std::string::npos) last = line;
  }
  std::vector<std::string> words;
  std::istringstream in(last);
  for (std::string word; in >> word;) {
    if (word != ":" && word != "&&") words.push_back(word);
  }
  if (words.empty()) throw Error("the build system has no command that links the program");
  return words;
}

}  // namespace

std::vector<std::string> relinked(const std::string& commands,
                                  const std::vector<Exchange>& exchanges,
                                  const std::filesystem::path& output) {
  std::vector<std::string> words = link_words(commands);
  for (std::string& word : words) {
    for (const Exchange& exchange : exchanges) {
      if (is_reference_of(*exchange.part, word)) word = exchange.object.string();
    }
  }
  const auto option = std::find(words.begin(), words.end(), "-o");
  if (option == words.end() || option + 1 == words.end()) {
    throw Error("the build system's last command for the program does not link it");
  }
  *(option + 1) = output.string();
  return words;
}

bool links_part(const std::string& commands, const Exercise& part) {
  const auto words = link_words(commands);
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return is_reference_of(part, word); });
}

}  // namespace lockstep::grader
