// K backward passes are summed on each rank, then averaged over the ranks: K times too large.
#include "engine/autograd/operations.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/horovod/distributed_optimizer.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

// The gradient of a weight on two ranks whose samples are 1 and 3, after the given number of
// passes.
double gradient_after(int passes) {
  double gradient = 0;
  sim::Options options;
  options.ranks = 2;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    Parameter weight{"weight", full({1, 1}, 0, DType::float64, device), {}, {}};
    const auto optimizer = horovod::make_distributed_optimizer(
        optim::make_sgd({&weight}, {}), *group,
        {.backward_passes_per_step = passes, .strands = &self.strands});
    for (int pass = 0; pass < passes; ++pass) {
      Tape tape(GradMode::record);
      const Value x = tape.constant(full({1, 1}, 1 + 2 * self.rank, DType::float64, device));
      tape.backward(autograd::sum(tape, autograd::linear(tape, x, tape.leaf(weight))));
    }
    optimizer->step();
    if (self.rank == 0) gradient = weight.grad.item();
  });
  if (result.finding) throw Error(result.finding->message);
  return gradient;
}

}  // namespace

int main() {
  myth::claim("backward_passes_per_step=4 gives the mean gradient of four passes.");
  const double one = gradient_after(1), four = gradient_after(4);
  std::cout << "2 ranks with the gradients 1 and 3\n"
            << "  one pass a step:    " << one << "\n"
            << "  four passes a step: " << four << "\n";
  return myth::refuted_if(four == 4 * one,
                          "The passes are added, so the gradient is four times as large: divide "
                          "by their number, or lower the learning rate.");
}
