// What a kernel did, counted: teaching material, and gates for tests ("4 sectors a request").
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace lockstep::paper {

struct Counters {
  std::uint64_t launches = 0;
  std::uint64_t instructions = 0;  // of warps
  std::uint64_t lane_instructions =
      0;                    // only lanes that took part; with settings.counters, as below
  std::uint64_t flops = 0;  // a fused multiply-add is two
  std::uint64_t device_requests = 0, sectors = 0;      // of warps; 32 bytes each
  std::uint64_t shared_requests = 0, bank_passes = 0;  // 1 pass a request is free of conflicts
  std::uint64_t barriers = 0;                          // a block's, counted once
  std::uint64_t atomics = 0;                           // of lanes
  std::uint64_t divergent_branches = 0;

  double sectors_a_request() const {
    return device_requests == 0 ? 0 : static_cast<double>(sectors) / double(device_requests);
  }
  double passes_a_request() const {
    return shared_requests == 0 ? 0 : static_cast<double>(bank_passes) / double(shared_requests);
  }
  Counters& operator+=(const Counters& other);
};

using KernelCounters = std::map<std::string, Counters>;  // by kernel_name()

}  // namespace lockstep::paper
