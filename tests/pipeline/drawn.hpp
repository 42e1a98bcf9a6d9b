// Numbers drawn from a fixed seed, for tests of plans.
#pragma once

#include <random>

#include "engine/parallel/pipeline/timeline.hpp"

namespace lockstep::test {

class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}
  int between(int from, int to) {
    return from + static_cast<int>(random_() % static_cast<std::uint32_t>(to - from + 1));
  }
  // Whole hundredths, so that a test's line can be read.
  double cost() { return between(1, 300) / 100.0; }
  pipeline::PassCosts costs() {
    pipeline::PassCosts drawn{cost(), 0, cost(), cost()};
    drawn.backward_s = drawn.input_gradient_s + drawn.weight_gradient_s;
    return drawn;
  }

 private:
  std::mt19937 random_;
};

}  // namespace lockstep::test
