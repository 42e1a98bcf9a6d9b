// Paper's counts of each kernel, by line of its source. They are read from paper's own table.
//
// Requests are counted as the kernel makes them. Caches, the order of requests in time and what
// ptxas changes after the PTX are not modelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::gpu {

struct Figures {
  std::uint64_t instructions = 0;       // of warps
  std::uint64_t lane_instructions = 0;  // at most 32 of each
  std::uint64_t flops = 0;
  std::uint64_t device_requests = 0, sectors = 0, sectors_needed = 0;  // of 32 bytes
  std::uint64_t shared_requests = 0, bank_passes = 0, passes_needed = 0;
  std::uint64_t atomics = 0, divergent_branches = 0;

  Figures& operator+=(const Figures& other);
  double lanes_active() const;  // a share of all lanes
  double sectors_a_request() const;
  double sectors_needed_a_request() const;
  double passes_a_request() const;
  double passes_needed_a_request() const;
};

struct CountedLine {
  std::string file;
  int line = 0;
  Figures figures = {};
  // Bytes from the address of a lane to its neighbour's: a number, "mixed", or "-".
  std::string device_apart = "-", shared_apart = "-";
};

struct CountedKernel {
  std::string name;    // "softmax_rows<float, 256>"
  std::string symbol;  // mangled
  std::uint64_t launches = 0;
  // The figures of the largest launch.
  std::uint64_t blocks = 0;
  int threads = 0;  // a block
  std::size_t dynamic_shared = 0;
  std::uint64_t barriers = 0;  // of all
  std::vector<CountedLine> lines = {};

  Figures whole() const;
};

// "softmax_rows" of "softmax_rows<float, 256>".
std::string family_of(const std::string& name);

//   table   gpu::paper_lines()
//   Throws  Error where it reads otherwise: paper and program are not of one build
std::vector<CountedKernel> read_paper_counts(std::string_view table);

}  // namespace lockstep::gpu
