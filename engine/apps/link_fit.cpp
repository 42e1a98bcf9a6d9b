#include "engine/apps/link_fit.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"

namespace lockstep::bench {

// Minimises Σ ((α + γ·D - t) / t)² over α and γ = 1/β: two linear equations.
LinkFit fit_link(const std::vector<LinkTime>& times) {
  double ones = 0, sizes = 0, squares = 0, right = 0, right_sizes = 0;
  for (const LinkTime& time : times) {
    LOCKSTEP_CHECK(time.seconds > 0 && time.bytes >= 0, "fit_link: ", time.bytes, " bytes in ",
                   time.seconds, " s is not a measured message");
    const double one = 1 / time.seconds, size = static_cast<double>(time.bytes) / time.seconds;
    ones += one * one;
    sizes += one * size;
    squares += size * size;
    right += one;
    right_sizes += size;
  }
  const double determinant = ones * squares - sizes * sizes;
  LOCKSTEP_CHECK(determinant > 1e-12 * ones * squares, "fit_link: ", times.size(),
                 " points of one size have no slope; measure at least two different sizes");
  LinkFit fit;
  fit.alpha_s = (right * squares - right_sizes * sizes) / determinant;
  fit.beta_bytes_s = determinant / (ones * right_sizes - sizes * right);
  for (const LinkTime& time : times) {
    const double model = fit.seconds(static_cast<double>(time.bytes));
    fit.worst = std::max(fit.worst, std::abs(model / time.seconds - 1));
  }
  return fit;
}

double ring_seconds(const LinkFit& link, int ranks, double bytes) {
  return 2 * (ranks - 1) * link.seconds(bytes / ranks);
}

}  // namespace lockstep::bench
