// Backward adds to the gradients that are there; a loop that does not clear them sums them up.
#include <vector>

#include "engine/autograd/operations.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("A training loop is forward, loss, backward, step.");
  CpuDevice device;
  Parameter weight{"weight", full({1}, 1, DType::float64, device), {}, {}};
  std::vector<double> gradients;
  for (int step = 1; step <= 3; ++step) {
    Tape tape(GradMode::record);
    tape.backward(autograd::scale(tape, tape.leaf(weight), 2));  // the loss is 2·weight
    gradients.push_back(weight.grad.item());
    std::cout << "step " << step << ": the gradient is " << gradients.back()
              << ", that of this step's loss alone is 2\n";
  }
  return myth::refuted_if(gradients == std::vector<double>{2, 4, 6});
}
