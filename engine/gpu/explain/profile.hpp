// Compares the measurements of NVIDIA's profiler on a GPU with paper's counts of the same work.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "engine/gpu/explain/paper_counts.hpp"

namespace lockstep::gpu {

struct Profiled {
  double instructions = 0, lane_instructions = 0;
  double device_requests = 0, sectors = 0;
  double shared_requests = 0, bank_passes = 0;
};

// "attend<float, 64, 32>" of "void lockstep::gpu::<unnamed>::attend<float, (int)64, (int)32>(…)".
std::string short_kernel_name(std::string profiled);

// The sums over a kernel's launches.
//   csv     of ncu --csv --page raw, with the metrics of tests/gpu/pack/run.sh; lines before the
//           table are skipped
//   Throws  Error where there is no table, or a metric is missing
std::map<std::string, Profiled> read_profile(std::string_view csv);

// A line a kernel: requests and passes of both. The last line says how many agree within a
// twentieth.
std::string profile_table(std::span<const CountedKernel> paper,
                          const std::map<std::string, Profiled>& gpu);

}  // namespace lockstep::gpu
