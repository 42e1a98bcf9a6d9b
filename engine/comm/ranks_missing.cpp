// What a rank says when others have not come. Beside the parts that throw it, so that all say it
// alike.
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::comm {

namespace {

std::string list_of(const std::vector<int>& ranks) {
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) list += text(i == 0 ? "" : ", ", ranks[i]);
  return list;
}

}  // namespace

RanksMissing::RanksMissing(std::vector<int> missing, int size, double timeout_s)
    : CommError(text(list_of(missing), " of ", size, " did not come within ", timeout_s,
                     " s; look at the output there, and start as many processes as WORLD_SIZE ",
                     "says")),
      ranks(std::move(missing)) {}

}  // namespace lockstep::comm
