// How many lines each room may have. cmake/rooms.cmake says it, and growing beyond it is a decision
// that a commit explains.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/house/sources.hpp"

namespace lockstep::house {

class Budgets {
 public:
  // "engine/base 2300|grader/parts/07_ddp 4000": folders from the root, and lines.
  explicit Budgets(const std::string& list);

  // One complaint for each room with more lines than its budget, each folder of sources that has no
  // budget, and each budget that has no sources. A file counts for the longest folder it is in.
  Complaints complaints(const std::vector<Source>& sources) const;

 private:
  std::map<std::string, std::size_t> lines_max_;  // by folder
};

}  // namespace lockstep::house
