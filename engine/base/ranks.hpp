// Ranks in a sentence.
#pragma once

#include <string>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep {

// "rank 3", "ranks 1, 3"; "no rank" of an empty list.
inline std::string list_of_ranks(const std::vector<int>& ranks) {
  if (ranks.empty()) return "no rank";
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) list += text(i == 0 ? "" : ", ", ranks[i]);
  return list;
}

}  // namespace lockstep
