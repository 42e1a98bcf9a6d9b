// Findings: what paper saw and CUDA forbids. The same finding of many lanes is one, with a count;
// the first lane that had it is named. Every sentence says what was expected, what was seen, and
// why.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::paper {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t volume() const { return std::uint64_t{x} * y * z; }
  bool operator==(const Dim3&) const = default;
};

enum class Kind {
  out_of_bounds,
  use_after_free,
  misaligned,
  uninitialised,
  shared_race,        // between warps of a block, in shared memory, no barrier between
  device_race,        // between warps of a block, in device memory, no barrier between
  block_race,         // between blocks of a launch, in device memory
  stream_race,        // between operations that nothing orders
  divergent_barrier,  // not all threads of the block reach the same __syncthreads()
  wrong_mask,         // a warp operation whose mask names other lanes than those that take part
  hang,
  trap,
  refused,  // PTX that paper does not know
  limit,    // a launch that no GPU takes
  host_touch,
  leak,
  bad_call,
};
std::string_view name(Kind kind);  // "out of bounds"

// The place of a finding. A finding of the host's calls has no kernel; block and thread are then
// unused.
struct Where {
  std::string kernel;  // demangled
  std::string file;
  int line = 0;
  Dim3 block{0, 0, 0}, thread{0, 0, 0};
};

struct Finding {
  Kind kind{};
  Where where;
  std::string sentence;
  std::uint64_t count = 1;
};
std::string to_string(const Finding& finding);

// Findings in the order in which they were first seen.
class Findings {
 public:
  // Findings of one kind at one line of one kernel are one; so are equal sentences without a
  // kernel.
  void add(Kind kind, const Where& where, std::string sentence);
  std::vector<Finding> all() const;
  std::size_t size() const;
  void clear();
  std::string report() const;  // one line a finding; empty where there is none

 private:
  mutable std::mutex mutex_;  // guards both below: several host threads may call the library
  std::vector<Finding> findings_;
  std::map<std::string, std::size_t> index_;  // key to place in findings_
};

// "void scale<float>(float*, long)" of a mangled name; the name itself where it is not mangled.
std::string demangle(const std::string& mangled);

// "scale<float>" of the same: without result, parameters and namespaces.
std::string kernel_name(const std::string& mangled);

}  // namespace lockstep::paper
