// The state of FlashAttention: a maximum, a sum and terms that are not divided yet. It is made of
// the partial results, merged, and turned back.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/parallel/sequence/online_softmax.hpp"

namespace lockstep::sequence_parallel {
namespace {

struct State {
  explicit State(const Partial& from) : maximum(from.log_sum), sum(1), terms(from.output) {
    if (from.log_sum == -std::numeric_limits<double>::infinity()) sum = 0;
  }
  void rescale(double to) {
    const double factor = sum == 0 ? 0 : std::exp(maximum - to);
    sum *= factor;
    for (double& term : terms) term *= factor;
    maximum = to;
  }
  Partial partial() const {
    if (sum == 0) return {maximum, terms};
    Partial made{maximum + std::log(sum), terms};
    for (double& mean : made.output) mean /= sum;
    return made;
  }

  double maximum, sum;
  std::vector<double> terms;
};

}  // namespace

void merge(Partial& into, const Partial& block) {
  State all(into), more(block);
  const double maximum = std::max(all.maximum, more.maximum);
  all.rescale(maximum);
  more.rescale(maximum);
  all.sum += more.sum;
  for (std::size_t d = 0; d < all.terms.size(); ++d) all.terms[d] += more.terms[d];
  into = all.partial();
}

}  // namespace lockstep::sequence_parallel
