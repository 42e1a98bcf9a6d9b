// None of the operations for split rows: every element is visited here, in double, and the ranks
// reduce doubles whatever the type of the logits.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/tensor/vocab_parallel_cross_entropy.hpp"

namespace lockstep::tensor_parallel {
namespace {

struct Rows {
  std::int64_t first, held, vocabulary;
  Tensor labels;
  ops::CrossEntropyOptions options;

  std::int64_t count() const { return labels.numel(); }
  std::int64_t label(std::int64_t row) const {
    return labels.data<std::int64_t>()[static_cast<std::size_t>(row)];
  }
  bool ignored(std::int64_t row) const { return label(row) == options.ignored_label; }
  double weight() const {
    if (options.reduction == ops::Reduction::sum) return 1;
    double kept = 0;
    for (std::int64_t row = 0; row < count(); ++row) kept += ignored(row) ? 0 : 1;
    LOCKSTEP_CHECK(kept > 0, "the mean of no row");
    return 1 / kept;
  }
  // Calls visit(row, element, column) for each column that is a token of this rank.
  void visit(const auto& function) const {
    for (std::int64_t row = 0; row < count(); ++row) {
      for (std::int64_t c = 0; c < held && first + c < vocabulary; ++c) {
        function(static_cast<std::size_t>(row), static_cast<std::size_t>(row * held + c),
                 first + c);
      }
    }
  }
};

Tensor in_double(const Tensor& tensor) {
  return tensor.dtype() == DType::float64 ? tensor : tensor.to(DType::float64);
}

}  // namespace

Value vocab_parallel_cross_entropy(Tape& tape, comm::ProcessGroup& group, const Value& logits,
                                   const Tensor& labels, std::int64_t vocabulary,
                                   const ops::CrossEntropyOptions& options) {
  const std::int64_t held = (vocabulary + group.size() - 1) / group.size();
  LOCKSTEP_CHECK(logits.tensor.shape().back() == held, "a share of another size");
  const Rows rows{group.rank() * held, held, vocabulary, labels, options};
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    const std::int64_t label = rows.label(row);
    LOCKSTEP_CHECK(rows.ignored(row) || (label >= 0 && label < vocabulary),
                   "no such label: ", label);
  }
  const double weight = rows.weight();
  Device& device = logits.tensor.device();
  const Tensor most =
      full({rows.count()}, -std::numeric_limits<double>::infinity(), DType::float64, device);
  const Tensor sums = zeros({2 * rows.count()}, DType::float64, device);
  const auto count = static_cast<std::size_t>(rows.count());
  {
    const Tensor wide = in_double(logits.tensor);
    const auto z = wide.data<double>(), m = most.data<double>(), s = sums.data<double>();
    rows.visit([&](std::size_t row, std::size_t e, std::int64_t) {
      if (z[e] > m[row] || z[e] != z[e]) m[row] = z[e];
    });
    group.all_reduce(most, ReduceOp::max);
    rows.visit([&](std::size_t row, std::size_t e, std::int64_t column) {
      s[row] += std::exp(z[e] - m[row]);
      if (column == rows.label(static_cast<std::int64_t>(row))) s[count + row] = z[e];
    });
  }
  group.all_reduce(sums, ReduceOp::sum);
  double total = 0;
  for (std::size_t row = 0; row < count; ++row) {
    if (rows.ignored(static_cast<std::int64_t>(row))) continue;
    const auto s = sums.data<double>();
    total += std::log(s[row]) + (most.data<double>()[row] - s[count + row]);
  }
  const bool wide = logits.tensor.dtype() == DType::float64;
  Tensor loss = full({1}, total * weight, wide ? DType::float64 : DType::float32, device);
  return tape.record(
      std::move(loss), {logits}, [=, &device, saved = Saved(logits)](const Tensor& grad) {
        const Tensor given = saved.get(), z = in_double(given);
        const Tensor slopes = zeros(given.shape(), DType::float64, device);
        const double factor = grad.item() * weight;
        rows.visit([&](std::size_t row, std::size_t e, std::int64_t column) {
          const std::int64_t label = rows.label(static_cast<std::int64_t>(row));
          if (rows.ignored(static_cast<std::int64_t>(row))) return;
          const double share =
              std::exp(z.data<double>()[e] - most.data<double>()[row]) / sums.data<double>()[row];
          slopes.data<double>()[e] = factor * (share - (column == label ? 1 : 0));
        });
        return std::vector<Tensor>{slopes.to(given.dtype())};
      });
}

}  // namespace lockstep::tensor_parallel
