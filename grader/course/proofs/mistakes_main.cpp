// Writes, for the build, the known mistakes of a part (grader/course/proofs/mistakes_unit.hpp):
//
//   mistakes-unit unit REFERENCE MUTANTS UNIT LIST         the unit's source, and its list
//   mistakes-unit table COURSE PART REFERENCE.o UNIT.o LIST TABLE   the part's functions
//
// A file that stays the same is not written, so that it is not compiled again.
#include <filesystem>
#include <iostream>

#include "engine/base/program.hpp"
#include "grader/course/manifest.hpp"
#include "grader/course/proofs/mistakes_unit.hpp"
#include "grader/course/text/text_file.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

void write_changed(const std::filesystem::path& file, const std::string& content) {
  if (!std::filesystem::exists(file) || read_text(file) != content) write_text(file, content);
}

void write_unit(const std::vector<std::string>& words) {
  const MutantList list = read_mutants(words[2]);
  if (!list.problems.empty()) throw UsageError(list.problems.front());
  const MistakesUnit unit = mistakes_unit(read_text(words[1]), list.mutants);
  write_changed(words[3], unit.source);
  write_changed(words[4], unit.list);
}

void write_table(const std::vector<std::string>& words) {
  const Course course = read_course(words[1]);
  const LinkedNames part =
      linked_names(symbols_of(words[3]), exercise_named(course, words[2]).symbols);
  write_changed(words[6], mistakes_table(part, symbols_of(words[4]), read_text(words[5])));
}

}  // namespace

int main(int argc, char** argv) {
  const auto tell = [](Fault fault, const std::string& sentence) {
    std::cerr << sentence + "\n";
    return fault == Fault::usage ? 2 : 1;
  };
  return run_main(tell, [&] {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 5 && words[0] == "unit") {
      write_unit(words);
    } else if (words.size() == 7 && words[0] == "table") {
      write_table(words);
    } else {
      throw UsageError(
          "usage: mistakes-unit unit REFERENCE MUTANTS UNIT LIST, or\n"
          "       mistakes-unit table COURSE PART REFERENCE.o UNIT.o LIST TABLE");
    }
    return 0;
  });
}
