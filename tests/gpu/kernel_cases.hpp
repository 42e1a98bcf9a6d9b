// Short cases that between them run every path of the kernels, in a grid of one block, too: what
// the tests of kernels' mutants must fail by.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/dtype.hpp"
#include "tests/gpu/on_paper.hpp"

namespace lockstep::test {

struct KernelCase {
  std::string name;
  std::function<void(OnPaper& paper)> check;
};
const std::vector<KernelCase>& kernel_cases();          // of float32
const std::vector<KernelCase>& cases_of_other_types();  // the same of each, "float64: movement"

// Those of kernel_faults.cpp.
void check_checksums(OnPaper& paper);
void check_faults(OnPaper& paper);
void check_conversions(DType from, OnPaper& paper);
void check_outside(OnPaper& paper);

}  // namespace lockstep::test
