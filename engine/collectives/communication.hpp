// How long collectives took, and how much of that was hidden behind computation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/collectives/bucket.hpp"

namespace lockstep::collectives {

// The communication of a pass, or of several added up, in seconds of this rank's clock.
struct Communication {
  double total_s = 0;    // that collectives ran: together, since they run one after the other
  double exposed_s = 0;  // of these, that the rank stood waiting

  // 1 - exposed / total, from 0 (everything was waited for) to 1. None where nothing ran.
  std::optional<double> hidden() const;
  Communication& operator+=(const Communication& other);
};

// A hook that starts `inner` and adds what is seen of it to `seen`. Both must outlive it.
//   A Work that does not know how long it ran counts as long as it was waited for.
std::unique_ptr<CommHook> make_timed_hook(CommHook& inner, Communication& seen);

// A group in front of `inner` that adds what is seen of its collectives, and of the messages that
// it receives, to `seen`, which must outlive it. A blocking collective counts as long as it was
// waited for, so nothing of it was hidden.
std::unique_ptr<comm::ProcessGroup> make_timed_group(std::unique_ptr<comm::ProcessGroup> inner,
                                                     Communication& seen);
// The same in front of a group that is the caller's, and must outlive it.
std::unique_ptr<comm::ProcessGroup> make_timed_group(comm::ProcessGroup& inner,
                                                     Communication& seen);

// Collectives under way, for a timeline. A watch is given the Work of each as soon as it is
// started, and hands back the one that is waited for in its place.
struct UnderWay {
  std::string name;  // "all_gather of unit 3"
  std::int64_t bytes = 0;
  int queue = 0;  // those of one queue run one after the other
};
using WatchWork = std::function<comm::Work(UnderWay what, comm::Work work)>;

// Hooks that compress nothing: the sum over the group, and the average.
std::unique_ptr<CommHook> make_sum_hook();
std::unique_ptr<CommHook> make_average_hook();
// The average of gradients that travel as another type: each rank's are converted, multiplied by
// 1/N and summed in that type, and the mean is converted back.
std::unique_ptr<CommHook> make_average_hook(DType wire);

}  // namespace lockstep::collectives
