// After a resume, a rank whose optimizer has no momentum takes a different step from a rank that
// has.
#include <cmath>
#include <vector>

#include "engine/optim/optimizer.hpp"
#include "engine/parallel/horovod/broadcast_optimizer_state.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

enum class Broadcast : unsigned char { parameters, parameters_and_state };

// The weight on each of two ranks, one step after rank 0 has read its checkpoint.
std::vector<double> after_resume(Broadcast what) {
  std::vector<double> weights(2);
  myth::on_ranks(2, [&](comm::ProcessGroup& group, Device& device) {
    Parameter weight{"weight", full({1}, 0, DType::float64, device), {}, {}};
    const auto optimizer = optim::make_sgd({&weight}, {.learning_rate = 0.1, .momentum = 0.9});
    const auto step = [&] {
      weight.grad = full({1}, 1, DType::float64, device);
      optimizer->step();
    };
    if (group.rank() == 0) step();  // what the checkpoint holds: a weight, and momentum
    group.broadcast(weight.value, 0);
    if (what == Broadcast::parameters_and_state) {
      horovod::broadcast_optimizer_state(group, *optimizer, 0);
    }
    step();
    weights[static_cast<std::size_t>(group.rank())] = weight.value.item();
  });
  return weights;
}

}  // namespace

int main() {
  myth::claim(
      "Rank 0 reads the checkpoint and broadcasts the parameters; then all ranks are equal.");
  const auto without = after_resume(Broadcast::parameters);
  const auto with = after_resume(Broadcast::parameters_and_state);
  std::cout << "weights of two ranks after the first step\n"
            << "  parameters broadcast:           " << without[0] << " and " << without[1] << "\n"
            << "  optimizer state broadcast, too: " << with[0] << " and " << with[1] << "\n";
  return myth::refuted_if(without[0] != without[1] && with[0] == with[1],
                          "Momentum is state, too: broadcast the optimizer's state along with "
                          "the parameters.");
}
