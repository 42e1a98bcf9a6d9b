// Random-k is right on average; in a single step, the entries that travel are n/k times as large.
#include <cmath>

#include "engine/parallel/compress/random_k.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t elements = 100, entries = 2;

double length_of(const Tensor& w) {
  double squares = 0;
  for (std::int64_t i = 0; i < elements; ++i) squares += w.item(i) * w.item(i);
  return std::sqrt(squares);
}

}  // namespace

int main() {
  myth::claim("A compressor whose gradient is right on average does not disturb training.");
  double mean = 0, compressed = 0, exact = 0;
  myth::on_ranks(2, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor start = full({elements}, 1, DType::float64, device);  // the gradient of w²/2 is w
    for (const bool all : {true, false}) {
      const Tensor w = start.clone();
      for (std::uint64_t step = 0; step < 100; ++step) {
        const Tensor gradient = w.clone();
        if (!all) compress::random_k_reduce(group, gradient, entries, step).wait();
        gradient.scale_(-0.1);  // the learning rate
        w.reduce_(gradient, ReduceOp::sum);
      }
      (all ? exact : compressed) = length_of(w);
    }
    const Tensor sum = zeros({elements}, DType::float64, device);
    for (std::uint64_t draw = 0; draw < 1000; ++draw) {
      const Tensor gradient = start.clone();
      compress::random_k_reduce(group, gradient, entries, draw).wait();
      sum.reduce_(gradient, ReduceOp::sum);
    }
    mean = sum.item(0) / 1000;
  });
  std::cout << "an element of the gradient is 1; the mean of 1000 draws of 2 % has " << mean << "\n"
            << "100 steps of gradient descent from a distance of 10 end at\n  " << exact
            << " with the gradient\n  " << compressed << " with 2 % of it, drawn at random\n";
  return myth::refuted_if(std::abs(mean - 1) < 0.5 && exact < 0.01 && compressed > 100,
                          "Right on average is not enough: the variance grows by the factor that "
                          "compression saves, and a learning rate that was stable is not.");
}
