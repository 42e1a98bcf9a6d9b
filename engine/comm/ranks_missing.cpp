// The error of a rank when others have not come. It stands here, beside the parts that throw it, so
// that all say it alike.
#include "engine/base/ranks.hpp"
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::comm {

RanksMissing::RanksMissing(std::vector<int> missing, int size, double timeout_s)
    : CommError(text(list_of_ranks(missing), " of ", size, " did not come within ", timeout_s,
                     " s; look at the output there, and start as many processes as WORLD_SIZE ",
                     "says")),
      ranks(std::move(missing)) {}

}  // namespace lockstep::comm
