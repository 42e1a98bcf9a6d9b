// i % k is 0 for the first batch of a group of k, so the gradients travel too early.
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Skip synchronization while i % k != 0.");
  const int batches = 12, k = 4;
  std::vector<double> used;
  double unused = 0;
  myth::on_ranks(2, [&](comm::ProcessGroup& group, Device& device) {
    Parameter weight{"weight", full({1}, 1, DType::float64, device), {}, {}};
    const std::vector<Parameter*> parameters{&weight};
    for (int i = 0; i < batches; ++i) {
      Tape tape(GradMode::record);
      tape.backward(autograd::sum(tape, tape.leaf(weight)));  // a batch's gradient is 1
      if (i % k != 0) continue;
      data_parallel::average_gradients(group, parameters);
      if (group.rank() == 0) used.push_back(weight.grad.item());
      weight.grad = {};
    }
    unused = weight.grad.item();
  });
  std::cout << batches << " batches, k = " << k << "\n";
  for (const double count : used) std::cout << "  an update uses " << count << " of them\n";
  std::cout << "  no update uses the last " << unused << "\n";
  return myth::refuted_if(used == std::vector<double>{1, 4, 4} && unused == 3,
                          "The first update then uses one batch, and the last batches are lost: "
                          "synchronize when (i + 1) % k == 0, and at the end.");
}
