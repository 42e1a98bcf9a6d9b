#include "grader/parts/05_data_parallel/broadcast_parameters/causes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "grader/judge/compare.hpp"

namespace lockstep::grader::broadcast_parameters {
namespace {

bool is_mean(DType dtype, const std::vector<double>& seen, const std::vector<Bytes>& of_ranks) {
  std::vector<double> sum(seen.size(), 0.0);
  for (const Bytes& bytes : of_ranks) {
    const auto values = as_doubles(dtype, bytes);
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += values[e];
  }
  const auto n = static_cast<double>(of_ranks.size());
  for (std::size_t e = 0; e < sum.size(); ++e) {
    const double mean = sum[e] / n;
    if (!(std::fabs(seen[e] - mean) <= 8 * epsilon_of(dtype) * n * (1 + std::fabs(mean)))) {
      return false;
    }
  }
  return true;
}

// True if an integer went through a floating-point number on its way.
bool was_rounded(DType dtype, const Bytes& seen, const Bytes& right) {
  if (dtype != DType::int64) return false;
  const auto a = as_integers(seen), b = as_integers(right);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](std::int64_t x, std::int64_t y) {
    return std::fabs(static_cast<double>(x) - static_cast<double>(y)) <=
           0x1.0p-23 * std::fabs(static_cast<double>(y));
  });
}

// If every rank ended with the numbers of one rank that is not the source: that rank.
std::optional<int> other_source(int source, const std::vector<TensorReport>& seen,
                                const std::vector<Bytes>& of_ranks) {
  for (int r = 0; std::cmp_less(r, of_ranks.size()); ++r) {
    const Bytes& values = of_ranks[static_cast<std::size_t>(r)];
    const bool everywhere = std::all_of(
        seen.begin(), seen.end(), [&](const TensorReport& one) { return one.values == values; });
    if (r != source && everywhere) return r;
  }
  return std::nullopt;
}

}  // namespace

Cause likely_cause(const ReplicaProblem& p, const ModelPlan& model, std::size_t i, int rank,
                   const std::vector<TensorReport>& of_all, const std::vector<Bytes>& of_ranks) {
  const DType dtype = model.tensor(i).dtype;
  const Bytes& seen = of_all[static_cast<std::size_t>(rank)].values;
  const Bytes& right = of_ranks[static_cast<std::size_t>(model.source)];
  if (seen.size() != right.size()) return {"length", "the tensor's size changed"};
  if (const auto other = other_source(model.source, of_all, of_ranks)) {
    return {"other_source",
            text("every rank holds the values of rank ", *other, ", but the source is rank ",
                 model.source, ": pass `source` as the root")};
  }
  if (!is_integer(dtype) && is_mean(dtype, as_doubles(dtype, seen), of_ranks)) {
    return {"averaged",
            text("this is the mean over the ", p.members.size(),
                 " replicas, which is no rank's model: copy the source, do not average")};
  }
  if (was_rounded(dtype, seen, right)) {
    return {"rounded",
            "the integer was converted to a floating-point type, which cannot hold all its digits"};
  }
  if (rank == model.source) {
    return {"source_changed",
            "the source's own values changed; the other ranks must receive them as they were"};
  }
  if (seen == of_ranks[static_cast<std::size_t>(rank)]) {
    if (i < model.parameters.size()) {
      return {"parameter_left_out",
              "the values are this rank's own: nothing was received into this parameter"};
    }
    return {"buffer_left_out",
            "the values are this rank's own: buffers belong to the model too, including integer "
            "buffers; model.buffers() lists them"};
  }
  return {"other_values",
          "every rank broadcasts the same whole tensors in the same order; a broadcast copies "
          "bits, and a sum with zeros does not (-0 + 0 is 0)"};
}

}  // namespace lockstep::grader::broadcast_parameters
