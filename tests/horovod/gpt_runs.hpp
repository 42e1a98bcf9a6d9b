// A small GPT in float64, trained on one rank or on several with the same samples: what the tests
// of equality compare.
#pragma once

#include <string>
#include <vector>

#include "engine/optim/optimizer_spec.hpp"
#include "engine/parallel/horovod/distributed_optimizer.hpp"

namespace lockstep::test {

struct GptRun {
  int steps = 20;
  int passes = 1;  // per rank and step
  optim::OptimizerKind rule = optim::OptimizerKind::sgd;
  horovod::HorovodOptions options{};
};

struct GptSeen {
  std::vector<std::vector<double>> gradients;  // of step 1, after the reduction, by parameter
  std::vector<double> losses;                  // of all samples, by step
  std::uint64_t weights = 0;                   // a checksum at the end
};

// Global batches of 120 samples, which 1, 2, 3, 4, 5 and 8 ranks divide.
GptSeen run_gpt(comm::ProcessGroup& group, Strands& strands, const GptRun& run);

// The largest difference of a tensor's elements, as a share of the tensor's largest; and of losses.
double gradients_apart(const GptSeen& one, const GptSeen& other);
double losses_apart(const GptSeen& one, const GptSeen& other);

}  // namespace lockstep::test
