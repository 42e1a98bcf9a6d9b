// The mean over the ranks of sums over N parts is an N-th of the sum over all samples.
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

// The gradient of sum(x · weight) with respect to the weight, for the samples first, first + 1, …
Parameter trained(int first, int count, Device& device) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(first + i + 1);
  Parameter weight{"weight", full({1, 1}, 1, DType::float64, device), {}, {}};
  Tape tape(GradMode::record);
  const Value x = tape.constant(from_values(samples, {count, 1}, DType::float64, device));
  tape.backward(autograd::sum(tape, autograd::linear(tape, x, tape.leaf(weight))));
  return weight;
}

}  // namespace

int main() {
  myth::claim("loss = output.sum() is fine for a demo.");
  CpuDevice cpu;
  const double alone = trained(0, 8, cpu).grad.item();
  double averaged = 0;
  myth::on_ranks(4, [&](comm::ProcessGroup& group, Device& device) {
    Parameter weight = trained(2 * group.rank(), 2, device);
    const std::vector<Parameter*> parameters{&weight};
    data_parallel::average_gradients(group, parameters);
    averaged = weight.grad.item();
  });
  std::cout << "8 samples on one rank:        the gradient is " << alone << "\n"
            << "2 samples on each of 4 ranks: the gradient is " << averaged << "\n";
  return myth::refuted_if(alone == 4 * averaged,
                          "DDP averages over ranks, so the gradient of a sum depends on the "
                          "number of ranks; use a mean.");
}
