// The NCCL backend: one process per GPU. A group has two halves, as PyTorch's "cpu:gloo,cuda:nccl"
// (group_by_device.hpp): tensors of the GPU travel by NCCL, those of the host by the host's group,
// through which the ranks also agree on what they call and learn who failed. What this needs of
// CUDA and NCCL lies in liblockstep_gpu.so (gpu/wires.hpp), on NVIDIA's libraries or on paper.
//
// When is an operation done? A GPU does what its streams say. The device computes in one stream,
// and each group communicates in another. An operation begins behind what the device had been
// asked for when it was started. Work::wait() makes the device's stream wait for it, and not the
// host: the host waits where it reads (Tensor's to_host, Device::settle), and there it is told what
// failed.
//
//   rank's thread   started ──────────── wait() ──────── to_host: waits, and throws
//   compute         ─ kernels ─┬─ kernels ─────┬─ kernels ─┤
//   communication              └─ all_reduce ──┘
//
// Messages: each ordered pair of ranks has a communicator, a stream and a thread of its own, made
// at the first message, so that isend blocks nothing and pairs do not wait for each other. NCCL has
// no tags: a pair's messages meet in the order of the calls, and a tag that differs is an error.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/comm/store.hpp"

namespace lockstep::comm {

// The ordered pairs that have sent messages, by their ranks in the group of make_nccl_group: its
// own, and those of all groups split from it. A pair is named on both of its ends.
//   Thread  any
class NcclPairs {
 public:
  using Pair = std::pair<int, int>;  // source and destination
  void add(Pair pair) {
    const std::scoped_lock lock(mutex_);
    pairs_.push_back(pair);
  }
  // A pair of two groups stands here twice.
  std::vector<Pair> all() const {
    const std::scoped_lock lock(mutex_);
    return pairs_;
  }

 private:
  mutable std::mutex mutex_;  // guards pairs_
  std::vector<Pair> pairs_;
};
// The memory that a pair takes on each of its two GPUs. It is modelled: the size of NCCL's buffer
// between two GPUs as its manual states it (NCCL_BUFFSIZE), once.
//   Source  [NCCL] "Environment Variables"
inline constexpr std::int64_t nccl_pair_bytes = 4 << 20;

// The pairs of all ranks, by their sources, with what memory NCCL keeps for their messages besides
// the tensors, as a line for the table of memory; empty if no message was sent.
//   pairs  of this rank, which knows its own
//   Comm   an all-reduce of a number for each ordered pair of ranks
std::string told_of_pairs(const NcclPairs& pairs, ProcessGroup& group);

struct NcclOptions {
  double timeout_s = 30;       // of every operation, on the host and on the GPU; positive
  std::string name = "world";  // must be new in the store: one name, one group, one attempt
  std::shared_ptr<NcclPairs> pairs = {};  // is told of each pair; none: nobody is
};

// The group of the ranks of `host`, each with a GPU of its own.
//   gpu       of gpu::open_gpu; no other rank's. It outlives the group and the groups split from it
//   host      of make_gloo_group, or of one rank; every rank of it calls this
//   Returns   a group by device: "cpu:<host's>,away:nccl"
//   Requires  `store` outlives it, and Works do not; one thread of the rank calls
//   Ensures   every rank gets the same bits of the same sum, in an order of NCCL's choosing
//   Comm      the ranks compare what they call through a split of `host`, behind each call: of the
//             GPU while NCCL is under way, of the host while that one's group is
//   Traffic   modelled for collectives, exact for messages
//   Throws    gpu::GpuError where `gpu` is none of open_gpu's, or the build has no GPU code.
//             CommError on all ranks where they cannot meet: one has no GPU, two have the same, one
//             did not come. After a CommError of any operation the group is poisoned, with both of
//             its halves, as of make_gloo_group. Ranks that use several groups in different orders,
//             so that their GPUs wait for each other, are all told after the deadline
std::unique_ptr<ProcessGroup> make_nccl_group(Store& store, Device& gpu,
                                              std::unique_ptr<ProcessGroup> host,
                                              const NcclOptions& options = {});

}  // namespace lockstep::comm
