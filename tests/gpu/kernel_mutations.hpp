// Changes to single instructions of the kernels, as nvcc made them: what a slip of the pen could
// have been. Paper carries one out before it decodes a kernel (its setting ptx_edit).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::test {

struct Kernel {
  std::string symbol;                // as the linker knows it
  std::string name;                  // "sum_by_teams<float, 32>"
  std::string ptx;                   // from ".entry" to the closing brace
  std::map<int, std::string> files;  // of the source, by the numbers that the PTX gives them
};
std::vector<Kernel> kernels_of_object();

// The table that paper has counted, by the kernels' names as above.
struct Counted {
  double launches = 0, sectors = 0, passes = 0;  // sectors and passes a request
};
std::map<std::string, Counted> counted_on_paper();

struct Mutation {
  std::string kind;  // "barrier"
  std::string key;   // "sum_by_teams<float, 32> barrier 2": the second of its kind there
  std::string instruction;
  std::string file;  // of the source
  int line = 0;
  std::string edit;  // PAPER_PTX_EDIT
  // nvcc divides numbers of 64 bits as numbers of 32 where both fit, and looks at their upper
  // halves first. That choice is the compiler's: the source has one division, and where both
  // numbers fit, both ways give its quotient. It has a number, but is not changed.
  bool chooses_division = false;
};

// kinds:
//   barrier     is left out
//   bound       < is taken for <=, > for >=, and the other way round
//   condition   = is taken for !=, and the other way round; of floating-point numbers, < for >
//   mask        names the first half of a warp's lanes
//   distance    of a shuffle: a lane talks to itself
//   scale       a floating-point product is a sum
//   atomic      another operation: the least for the largest, an exchange for a sum
std::vector<Mutation> mutations_of(const Kernel& kernel);

}  // namespace lockstep::test
