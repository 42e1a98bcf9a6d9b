// Rounding depends on the two values that are added, not on which of them comes first.
#include "engine/base/random.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("Floating-point addition does not commute.");
  const int triples = 1'000'000;
  int swapped = 0, regrouped = 0;
  for (std::uint64_t i = 0; i < triples; ++i) {
    const double a = random_uniform(1, i), b = random_uniform(2, i), c = random_uniform(3, i);
    swapped += a + b != b + a;
    regrouped += (a + b) + c != a + (b + c);
  }
  std::cout << triples << " random triples of float64\n"
            << "  a + b differs from b + a              " << swapped << " times\n"
            << "  (a + b) + c differs from a + (b + c)  " << regrouped << " times\n";
  return myth::refuted_if(swapped == 0 && regrouped > triples / 10,
                          "Floating-point addition commutes; what it is not is associative, so "
                          "the grouping of a sum decides its last bits.");
}
