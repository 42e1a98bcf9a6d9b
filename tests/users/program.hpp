// The programs of this build as people start them: by a shell, in a folder of the test's own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

namespace lockstep::test {

namespace fs = std::filesystem;
using grader::CommandResult, grader::read_text, grader::write_text;

using Words = std::vector<std::string>;

// Where one test works.
class Place {
 public:
  const fs::path& path() const { return scratch_.path(); }
  // Runs shell lines in which $bin is the folder of the programs.
  CommandResult shell(const std::string& lines) const {
    return grader::run_command({"bash", "-c", "bin=" LOCKSTEP_BIN "\n" + lines}, path(), patient);
  }
  CommandResult run(Words words) const {
    words.front() = LOCKSTEP_BIN "/" + words.front();
    return grader::run_command(words, path(), patient);
  }
  bool has(const std::string& file) const {
    return fs::exists(path() / file) && !fs::is_empty(path() / file);
  }
  std::string file(const std::string& name) const { return read_text(path() / name); }

 private:
  Scratch scratch_;
};

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline std::string line_of(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

}  // namespace lockstep::test
