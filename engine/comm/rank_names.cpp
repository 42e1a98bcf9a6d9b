#include "engine/comm/rank_names.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/ranks.hpp"

namespace lockstep::comm {
namespace {

std::string with(std::string name, const std::string& global) {
  if (!global.empty()) name += " (" + global + ")";
  return name;
}

}  // namespace

RankNames::RankNames(std::vector<int> global_ranks) {
  bool same = true;
  for (std::size_t rank = 0; rank < global_ranks.size(); ++rank) {
    same = same && std::cmp_equal(global_ranks[rank], rank);
  }
  if (!same) global_ranks_ = std::make_shared<const std::vector<int>>(std::move(global_ranks));
}

RankNames::RankNames(int rank, int global_rank) : known_rank_(rank), known_global_(global_rank) {}

RankNames RankNames::of(const std::vector<int>& members) const {
  if (known_rank_ >= 0) {
    const auto place = std::ranges::find(members, known_rank_) - members.begin();
    const bool is_one = std::cmp_less(place, members.size());
    return is_one ? RankNames(static_cast<int>(place), known_global_) : RankNames();
  }
  std::vector<int> global_ranks;
  for (const int member : members) global_ranks.push_back(global_rank(member));
  return RankNames(std::move(global_ranks));
}

int RankNames::global_rank(int rank) const {
  if (rank == known_rank_) return known_global_;
  return global_ranks_ == nullptr ? rank : global_ranks_->at(static_cast<std::size_t>(rank));
}

std::string RankNames::name(int rank) const { return with(text("rank ", rank), global_name(rank)); }

std::string RankNames::place(int rank, int size) const {
  return with(text("rank ", rank, " of ", size), global_name(rank));
}

std::string RankNames::list(const std::vector<int>& ranks) const {
  if (ranks.size() == 1) return name(ranks.front());
  std::string globals;
  if (global_ranks_ != nullptr) {
    for (const int rank : ranks) {
      globals += text(globals.empty() ? "" : ", ", global_rank(rank));
    }
    globals += " of the world";
  }
  return with(list_of_ranks(ranks), ranks.empty() ? std::string() : globals);
}

std::string RankNames::global_name(int rank) const {
  const bool known = global_ranks_ != nullptr || (rank == known_rank_ && rank != known_global_);
  return known ? text("rank ", global_rank(rank), " of the world") : std::string();
}

}  // namespace lockstep::comm
