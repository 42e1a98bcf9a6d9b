// The same-host transport: the ranks of one host talk through memory that they share
// (segment.hpp). It needs no network and no library.
//
// How failures are found (peer_watch.hpp, agreement.hpp)
//   - Ranks that call different things learn it when all have arrived, before any data is used.
//   - A rank whose process ends, by a signal too, is missed within a tenth of a second.
//   - A rank that throws, or whose group is destroyed while an exception is under way, says so.
//   - A rank that does not come is named at the deadline, with what it did last.
// Every error names the ranks, what they called and where. The group is poisoned by the first one.
#pragma once

#include <memory>
#include <string>

#include "engine/comm/process_group.hpp"
#include "engine/comm/store.hpp"

namespace lockstep::comm {

struct ShmOptions {
  double timeout_s = 30;       // of every operation, from when it had to sleep; positive
  double meet_timeout_s = 30;  // until all ranks are here
  std::string name = "world";  // must be new in the store
  RankNames names = {};        // what errors call these ranks
};

// The group of `size` > 1 ranks, all on this host, that call this with the same store and name.
//   Requires  Works do not outlive their group; tensors of allocate_buffer may
//   Comm      the store is used to meet, and not afterwards
//   Traffic   as of the Gloo backend: exact for messages, modelled for collectives
//   Thread    one thread of the rank calls; asynchronous collectives run on a thread of the group's
//             own, in order, and a blocking one runs in the caller when none is queued
//   Throws    CommError naming the ranks that did not come; a poisoned group fails each later call
//             at once with the first cause
std::unique_ptr<ProcessGroup> make_shm_group(Store& store, int rank, int size,
                                             const ShmOptions& options = {});

}  // namespace lockstep::comm
