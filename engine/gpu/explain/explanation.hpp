// Why a kernel takes the time it takes: what paper counted and what ptxas said, beside a simple
// model of a processor, line by line.
//
// The model. A processor of an A100 issues four instructions of warps a clock, takes one pass of
// shared memory a clock, and has its share of the memory's bandwidth: a sector of 32 bytes in 2.4
// clocks [A100]. A line costs the sum of what its instructions take. So there are no caches, no
// waiting and no overlap: it says which lines matter and what they waste, and no time. Times are
// lower bounds, of a roofline: all sectors at the memory's peak, or all operations at the
// arithmetic's.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/gpu/explain/paper_counts.hpp"
#include "engine/gpu/explain/ptxas_report.hpp"

namespace lockstep::gpu {

// A GPU whose roofline is drawn.
struct Roof {
  std::string gpu;        // "A100 SXM 80 GB"
  std::string processor;  // "sm_80"
  double bytes_s = 0, flops_s = 0;
  double ridge() const { return flops_s / bytes_s; }  // operations a byte
};

struct ExplainedLine {
  CountedLine counted;
  std::string file;    // as in the repository
  std::string source;  // the line itself; empty where the file is not there
  double cost = 0;     // clocks of a processor
  double wasted = 0;   // of these: what requests and idle lanes take that need not be
};

enum class LossCause { uncoalesced, bank_conflict, divergence };
std::string_view name(LossCause cause);

struct Loss {
  LossCause cause{};
  std::string file;
  int line = 0;
  double share = 0;      // of the kernel's modelled cost
  std::string sentence;  // what it is, and what would do
};

struct OnProcessor {
  BuiltKernel built;
  Resident resident;
};

struct OnRoof {
  Roof roof;
  double least_s = 0;  // a launch, on average
  bool by_memory = true;
};

struct Explanation {
  CountedKernel counted;
  Figures whole;
  double cost = 0, wasted = 0;
  double flops_a_byte = 0;
  std::vector<OnProcessor> processors;
  std::vector<OnRoof> roofs;
  std::vector<Loss> losses;          // worst first
  std::vector<ExplainedLine> lines;  // costliest first
};

//   built   all; those of the kernel's symbol are taken
//   root    of the repository, in which sources are looked up and by which files are named
Explanation explain(const CountedKernel& kernel, std::span<const BuiltKernel> built,
                    std::span<const Roof> roofs, const std::filesystem::path& root);

}  // namespace lockstep::gpu
