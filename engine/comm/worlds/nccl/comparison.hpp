// Compares the ranks' calls in the background. The rank's own thread adds each of its calls and
// goes on; a thread of the group compares them over the host's group, in the order of the calls.
// Collectives of the GPU and of the host are compared in one sequence, so a rank that brings its
// tensor on the other kind of device differs at once.
//
//   Comm  an all_gather of CallFingerprint per call, and a small all_to_all where parts are unequal
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/worlds/nccl/core.hpp"
#include "engine/comm/worlds/ordered_worker.hpp"

namespace lockstep::comm {

class Comparison {
 public:
  // Carries a collective out among the words.
  using ByWords = std::function<void(const Collective& collective, const Where& where)>;
  Comparison(NcclCore& core, ByWords by_words) : core_(core), by_words_(std::move(by_words)) {}

  // `flight` is told that all agree, or what failed. Without one, only the group is.
  void add(const CallFingerprint& mine, const Collective& collective, double timeout_s,
           const Where& where, std::shared_ptr<Flight> flight = nullptr);
  // Waits until all that was added is compared, or has failed; the words are the caller's then.
  void drain() { worker_.drain(); }

 private:
  // Parts of an all_to_all that are unequal, else empty.
  struct Parts {
    std::vector<std::int64_t> sent, expected;
  };
  std::string disagreement_of(const CallFingerprint& mine, const Parts& parts, double timeout_s,
                              const Where& where);

  NcclCore& core_;
  const ByWords by_words_;
  CpuDevice host_;
  OrderedWorker worker_;  // last: ends before what its operations use
};

}  // namespace lockstep::comm
