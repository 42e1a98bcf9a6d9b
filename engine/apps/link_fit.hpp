// The model of a link with two numbers, found from measured times: a message of D bytes takes
// α + D/β seconds, α the latency in seconds and β the bandwidth in bytes per second.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::bench {

struct LinkTime {
  std::int64_t bytes = 0;
  double seconds = 0;
};

struct LinkFit {
  double alpha_s = 0;
  double beta_bytes_s = 0;
  double worst = 0;  // the largest |model / measured - 1| over the points
  double seconds(double bytes) const { return alpha_s + bytes / beta_bytes_s; }
};

// Least squares of the relative errors, so that a short message counts as much as a long one.
//   times   at least two different sizes, all seconds above 0
//   Throws  ContractError otherwise
LinkFit fit_link(const std::vector<LinkTime>& times);

// The time of a ring all-reduce of D bytes on N ranks by the fit, if each pair has a link of its
// own: 2(N-1) steps of D/N bytes, one after the other.
//   Source  [PY09] §3; engine/collectives/cost.hpp has the same in elements
double ring_seconds(const LinkFit& link, int ranks, double bytes);

}  // namespace lockstep::bench
