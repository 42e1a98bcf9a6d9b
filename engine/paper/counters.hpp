// Counts of what a kernel did: teaching material, and gates for tests ("4 sectors a request").
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace lockstep::paper {

struct Counters {
  std::uint64_t launches = 0;
  std::uint64_t instructions = 0;  // of warps
  std::uint64_t lane_instructions =
      0;                    // only lanes that took part; with settings.counters, as below
  std::uint64_t flops = 0;  // a fused multiply-add is two
  std::uint64_t device_requests = 0, sectors = 0;      // of warps; 32 bytes each
  std::uint64_t shared_requests = 0, bank_passes = 0;  // 1 pass a request is free of conflicts
  // The sectors and passes of the same requests if the lanes' bytes lay beside each other, with no
  // two of their words in one bank.
  std::uint64_t sectors_needed = 0, passes_needed = 0;
  std::uint64_t barriers = 0;  // a block's, counted once
  std::uint64_t atomics = 0;   // of lanes
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

// How far the addresses of neighbouring lanes lie apart: the same for all requests, or not.
struct Apart {
  enum class State : std::uint8_t { unseen, same, mixed } state = State::unseen;
  std::int64_t bytes = 0;
  Apart& operator+=(const Apart& other);
};

// Counts of the instructions of a line of a kernel's source, or of one instruction.
struct LineCounters {
  Counters counters;  // without launches and barriers
  Apart device, shared;
  LineCounters& operator+=(const LineCounters& other);
};

// A kernel by its lines, and its largest launch. With settings.counters only.
struct KernelLines {
  std::string symbol;  // mangled
  std::uint64_t blocks = 0;
  std::uint32_t threads = 0;                                            // a block
  std::size_t dynamic_shared = 0;                                       // bytes
  std::map<std::pair<std::string, std::uint32_t>, LineCounters> lines;  // by file and line
};

using LinesOfKernels = std::map<std::string, KernelLines>;  // by kernel_name()

}  // namespace lockstep::paper
