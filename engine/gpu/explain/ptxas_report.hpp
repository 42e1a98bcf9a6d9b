// Reads the reports of ptxas on each kernel and processor: registers, spills and shared memory.
// From them follow the warps that a processor holds at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::gpu {

struct BuiltKernel {
  std::string symbol;     // mangled
  std::string processor;  // "sm_80"
  int registers = 0;      // a thread
  int spilled_bytes = 0;  // a thread, stored and loaded
  int shared_bytes = 0;   // a block, static
};

// Reads all reports FILE.cu.ptxas in a folder and below it.
std::vector<BuiltKernel> read_ptxas_reports(const std::filesystem::path& folder);

struct Resident {
  int blocks = 0;
  int warps = 0;           // of warps_max
  std::string limited_by;  // "registers"
};
inline constexpr int resident_warps_max = 64;

// The blocks that one processor (a streaming multiprocessor) holds at a time, where shared memory
// has its largest share.
//   Throws  Error for a launch that it does not take
//   Source  NVIDIA's calculator, [OCC]
Resident resident(const BuiltKernel& kernel, int threads, std::size_t dynamic_shared);

}  // namespace lockstep::gpu
