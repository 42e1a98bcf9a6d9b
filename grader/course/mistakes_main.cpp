// mistakes-unit REFERENCE MUTANTS FUNCTION NAMESPACE OUT: writes the unit of a part's mistakes for
// the build (grader/course/mistakes_unit.hpp). What stays the same is not compiled again.
#include <filesystem>
#include <iostream>

#include "engine/base/program.hpp"
#include "grader/course/mistakes_unit.hpp"
#include "grader/course/text_file.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

void write_unit(const std::vector<std::string>& words) {
  const MutantList list = read_mutants(words[1]);
  if (!list.problems.empty()) throw UsageError(list.problems.front());
  const std::string unit = mistakes_unit(read_text(words[0]), list.mutants, words[2], words[3]);
  const std::filesystem::path& out = words[4];
  if (!std::filesystem::exists(out) || read_text(out) != unit) write_text(out, unit);
}

}  // namespace

int main(int argc, char** argv) {
  const auto tell = [](Fault fault, const std::string& sentence) {
    std::cerr << sentence + "\n";
    return fault == Fault::usage ? 2 : 1;
  };
  return run_main(tell, [&] {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() != 5) {
      throw UsageError("usage: mistakes-unit REFERENCE MUTANTS FUNCTION NAMESPACE OUT");
    }
    write_unit(words);
    return 0;
  });
}
