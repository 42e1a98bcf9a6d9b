// Planted faults: a kernel that is wrong, the finding that says so, and a twin that is right.
#pragma once

#include <string>
#include <vector>

#include "engine/paper/findings.hpp"
#include "engine/paper/machine/machine.hpp"
#include "tests/paper/paper_device.hpp"

namespace lockstep::paper::test {

// A body sees %tid, %ctaid, %index (of the thread in the grid), %data and %own (the address of
// data[index]); free for use are %a..%f (32 bits), %x..%z (64), %p and %q; `board` is shared memory
// of 1,024 bytes, `own` local memory of 32. data has 128 words, each its own index. %other is the
// address of 128 words that nobody has written.
struct Fault {
  const char* name;
  const char* wrong;
  const char* right;
  const char* finding;  // the whole of it
  Outcome outcome = Outcome::done;
  Dim3 grid{2, 1, 1}, block{64, 1, 1};
};

// The kernel of a body; the body begins at line 10 of faults.cu, a line each.
std::string kernel_of(const std::string& body);
struct Seen {
  Outcome outcome{};
  std::string findings;
};
Seen seen_with(const std::string& body, const Fault& fault, std::uint64_t seed);
// Runs both kernels with several seeds.
void check_faults(const std::vector<Fault>& faults);

}  // namespace lockstep::paper::test
