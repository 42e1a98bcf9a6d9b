// The names of a group's ranks in sentences. A group that was split off numbers its ranks anew. The
// launcher, its logs and whoever reads them know the ranks of the world.
//
//   the world, or all of it in its order   "rank 1"
//   a group that was split off             "rank 1 (rank 3 of the world)"
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace lockstep::comm {

class RankNames {
 public:
  RankNames() = default;                              // each rank has its number in the world
  explicit RankNames(std::vector<int> global_ranks);  // by rank
  RankNames(int rank, int global_rank);               // of the others, nothing is known

  // The names in the group that these ranks form, in this order.
  RankNames of(const std::vector<int>& members) const;

  // "rank 1 (rank 3 of the world)"
  std::string name(int rank) const;
  // "rank 1 of 2 (rank 3 of the world)"
  std::string place(int rank, int size) const;
  // "ranks 0, 1 (2, 3 of the world)"
  std::string list(const std::vector<int>& ranks) const;
  // "rank 3 of the world"; empty where the number is the same or not known.
  std::string global_name(int rank) const;

 private:
  int global_rank(int rank) const;

  std::shared_ptr<const std::vector<int>> global_ranks_;  // null: the same
  int known_rank_ = -1, known_global_ = -1;               // the only one that is known, or -1
};

}  // namespace lockstep::comm
