#include "tests/sim/broken_programs.hpp"

#include "engine/sim/wire/printable.hpp"

namespace lockstep::test {

void MarkedLines::mark(char name, const comm::Where& where) {
  const std::scoped_lock lock(mutex_);
  places_[name] = sim::place_of(where.file_name(), static_cast<int>(where.line()));
}

std::string MarkedLines::fill(std::string sentence) const {
  for (const auto& [name, place] : places_) {
    const std::string hole{'{', name, '}'};
    for (auto at = sentence.find(hole); at != std::string::npos; at = sentence.find(hole)) {
      sentence.replace(at, hole.size(), place);
    }
  }
  return sentence;
}

std::vector<BrokenProgram> broken_programs() {
  std::vector<BrokenProgram> all;
  for (const auto& some : {broken_messages(), broken_collectives(), broken_ends()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace lockstep::test
