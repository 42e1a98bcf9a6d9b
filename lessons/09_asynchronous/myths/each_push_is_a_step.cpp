// With W workers, a push is computed from parameters that lack W - 1 updates. If each push is a
// whole step, training diverges at a rate at which synchronous training settles. If each push is
// multiplied by 1/W, it needs about as many gradients as synchronous training, not 1/W of them.
#include <cmath>
#include <string>
#include <vector>

#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

constexpr int workers = 8, gradients_max = 100'000;
constexpr double rate = 0.5;

// Gradients of w²/2, which are w, until w stays below 0.01; gradients_max if it never does.
int gradients_of_asynchronous(double rate_of_push) {
  double w = 1;
  std::vector<double> pulled(workers, w);  // by worker; they push in turn
  int last_large = 0;
  for (int push = 0; push < gradients_max; ++push) {
    double& copy = pulled[static_cast<std::size_t>(push % workers)];
    w -= rate_of_push * copy;
    copy = w;
    if (!(std::abs(w) < 0.01)) last_large = push + 1;
  }
  return last_large;
}

std::string told(int gradients) {
  return gradients == gradients_max ? "never" : std::to_string(gradients);
}

}  // namespace

int main() {
  myth::claim("8 workers make 8 updates where DDP makes one, so they learn 8 times faster.");
  // The mean of equal gradients is any one of them, so a step halves w: 0.5^7 < 0.01.
  const int synchronous = 7 * workers;
  const int whole = gradients_of_asynchronous(rate);
  const int scaled = gradients_of_asynchronous(rate / workers);
  std::cout << "gradients that 8 workers compute until w stays below 0.01, learning rate 0.5\n"
            << "  synchronous, an update of 8:       " << told(synchronous) << "\n"
            << "  asynchronous, each push a step:    " << told(whole) << "\n"
            << "  asynchronous, each push times 1/8: " << told(scaled) << "\n";
  return myth::refuted_if(whole == gradients_max && scaled > synchronous / 2,
                          "Eight stale pushes overshoot together; with each push times 1/8, the "
                          "work is about that of the synchronous run.");
}
