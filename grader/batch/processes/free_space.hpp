// The space, inodes and memory that the machine has left before a unit begins. A compiler that runs
// into a full disk looks like one that refuses the student's file; here it is found before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace lockstep::grader {

struct FreeSpace {
  std::uintmax_t scratch_bytes = 0, scratch_inodes = 0;  // where players are built
  std::uintmax_t out_bytes = 0, out_inodes = 0;          // where grades are written
  std::uintmax_t memory_bytes = 0;                       // that can be had without swapping
};

// The space that a unit needs, besides what others are using: an object and a player in the scratch
// folder, a record in the journal, and the compiler's memory. Each is some times more than is
// usual.
struct Need {
  std::uintmax_t scratch_bytes = 32 << 20, scratch_inodes = 64;
  std::uintmax_t out_bytes = 2 << 20, out_inodes = 8;
  std::uintmax_t memory_bytes = 512 << 20;
};

// Measures the free space. A figure that the file system or the kernel does not tell counts as
// plenty.
FreeSpace free_space(const std::filesystem::path& scratch, const std::filesystem::path& out);
using SpaceProbe = std::function<FreeSpace()>;

// Seconds that the processors of this machine were idle since it started, all together.
double idle_processor_s();

// The first thing that is short, as a sentence with what to do; nothing when there is enough.
std::optional<std::string> shortage(const FreeSpace& left, const Need& need,
                                    const std::filesystem::path& scratch,
                                    const std::filesystem::path& out);

}  // namespace lockstep::grader
