// A tree in which lab-tool runs as a student meets it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/manifest.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

namespace lockstep::test {

// "1 of 42" of the course's exercises, which become more.
inline std::string of_all(int count) {
  const auto course =
      grader::read_course(std::filesystem::path(LOCKSTEP_ROOT) / "exercises/course.toml");
  return std::to_string(count) + " of " + std::to_string(course.exercises.size());
}

// A root whose work/ is its own and whose course is the real one.
struct Tree {
  Tree() {
    for (const char* folder : {"exercises", "solutions"}) {
      std::filesystem::create_symlink(std::filesystem::path(LOCKSTEP_ROOT) / folder,
                                      root() / folder);
    }
  }
  const std::filesystem::path& root() const { return scratch.path(); }
  grader::CommandResult lab(std::vector<std::string> words) const {
    words.insert(words.begin(), {LOCKSTEP_TOOL, "--root", root().string()});
    return grader::run_command(words, root(), lockstep::test::patient);
  }
  void solve(const std::string& file) const {
    const std::filesystem::path reference = root() / "solutions" / file;
    grader::write_text(root() / "work" / file, reference.extension() == ".toml"
                                                   ? grader::answered_quiz(reference)
                                                   : grader::read_text(reference));
  }
  // The reference with `words` in the place of `place`.
  void write_changed(const std::string& file, const std::string& place,
                     const std::string& words) const {
    std::string source = grader::read_text(root() / "solutions" / file);
    const std::size_t at = source.find(place);
    if (at == std::string::npos) throw Error(file + " has no " + place);
    grader::write_text(root() / "work" / file, source.replace(at, place.size(), words));
  }
  Scratch scratch;
};

}  // namespace lockstep::test
