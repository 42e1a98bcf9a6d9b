// An all-reduce sums unless it is told otherwise; somebody multiplies by 1/N.
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("All-reduce averages the gradients.");
  double sum = 0, average = 0;
  myth::on_ranks(4, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor gradient = full({1}, group.rank() + 1, DType::float64, device);
    const Tensor other = gradient.clone();
    group.all_reduce(gradient, ReduceOp::sum);
    group.all_reduce(other, ReduceOp::average);
    if (group.rank() == 0) sum = gradient.item(), average = other.item();
  });
  std::cout << "4 ranks bring 1, 2, 3 and 4\n"
            << "  all_reduce by sum, the usual operator, gives " << sum << "\n"
            << "  the average is " << average << "\n";
  return myth::refuted_if(sum == 10 && average == 2.5,
                          "All-reduce adds; whoever wants a mean divides by the number of ranks.");
}
