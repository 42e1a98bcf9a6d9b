// The members of a case's group: some ranks of the world, in an order that need not be theirs.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "grader/play/part.hpp"

namespace lockstep::grader {

// 0, 1, … ranks-1
inline std::vector<int> first_ranks(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

struct Members {
  int world = 1;
  std::vector<int> ranks{0};  // world ranks in group order

  int size() const { return static_cast<int>(ranks.size()); }
  // The place of a world rank in the group, or size().
  int group_rank(int world_rank) const {
    return static_cast<int>(std::find(ranks.begin(), ranks.end(), world_rank) - ranks.begin());
  }
  bool contain(int world_rank) const { return group_rank(world_rank) < size(); }
  GroupChoice choice_of(int world_rank) const {
    GroupChoice choice;
    choice.split = size() < world;
    choice.color = contain(world_rank) ? 1 : comm::ProcessGroup::no_color;
    choice.key = contain(world_rank) ? group_rank(world_rank) : 0;
    return choice;
  }
  // "3 ranks of a world of 8"
  std::string description() const {
    return text(size(), size() == 1 ? " rank" : " ranks",
                size() < world ? text(" of a world of ", world) : "");
  }
};

inline Members whole_world(int ranks) { return {ranks, first_ranks(ranks)}; }

}  // namespace lockstep::grader
