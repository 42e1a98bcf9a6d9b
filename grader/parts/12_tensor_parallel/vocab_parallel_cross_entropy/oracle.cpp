#include "grader/parts/12_tensor_parallel/vocab_parallel_cross_entropy/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grader/judge/compare.hpp"

namespace lockstep::grader::vocab_parallel_cross_entropy {
namespace {

using Numbers = std::vector<double>;

// The steps in which mistakes differ. `own`: computed from the rank's columns alone.
// late: reduced after the exponentials were taken from the own one.
enum class Maximum : std::uint8_t { whole, own, late, with_padding, left_out };
enum class Sum : std::uint8_t { whole, own, with_padding };
enum class Picked : std::uint8_t { whole, own, on_every_rank, from_zero, left_out };

struct Variant {
  Maximum maximum = Maximum::whole;
  Sum sum = Sum::whole;
  Picked picked = Picked::whole;
  bool divides = true;  // as the reduction asks for, or the other way round
  bool counts_ignored = false;
  double factor = 1;  // of the loss, or of the gradient
};

// The rows of a call, and where a rank's columns lie in them.
class Rows {
 public:
  Rows(const Problem& p, const Call& call, int rank) : p_(p), call_(call), rank_(rank) {}

  std::int64_t width() const { return p_.columns() * p_.ranks(); }
  double logit(std::size_t row, std::int64_t column) const {
    return call_.logits[row * at(width()) + at(column)];
  }
  std::int64_t first(int rank) const { return std::min(p_.vocabulary, rank * p_.columns()); }
  std::int64_t end(int rank) const { return first(rank + 1); }

  // The largest of these columns; NaN if one is.
  double maximum(std::size_t row, std::int64_t from, std::int64_t to) const {
    double most = -std::numeric_limits<double>::infinity();
    for (std::int64_t c = from; c < to; ++c) {
      const double z = logit(row, c);
      if (z > most || std::isnan(z)) most = z;
      if (std::isnan(z)) break;
    }
    return most;
  }
  double maximum(std::size_t row, Maximum way) const {
    if (way == Maximum::with_padding) return maximum(row, 0, width());
    if (way == Maximum::own) return maximum(row, first(rank_), end(rank_));
    return maximum(row, 0, p_.vocabulary);
  }
  // Σ e^(z - m) over the columns of a rank; m is its own maximum, or that of the whole row.
  double sum(std::size_t row, int rank, Maximum way) const {
    const double most =
        way == Maximum::own ? maximum(row, first(rank), end(rank)) : maximum(row, way);
    double total = 0;
    for (std::int64_t c = first(rank); c < end(rank); ++c) {
      total += std::exp(logit(row, c) - most);
    }
    return total;
  }
  double sum(std::size_t row, const Variant& way) const {
    if (way.sum == Sum::own) return sum(row, rank_, way.maximum);
    double total = 0;
    for (int rank = 0; rank < p_.ranks(); ++rank) total += sum(row, rank, way.maximum);
    if (way.sum == Sum::with_padding) {
      const double most = maximum(row, way.maximum);
      for (std::int64_t c = p_.vocabulary; c < width(); ++c) {
        total += std::exp(logit(row, c) - most);
      }
    }
    return total;
  }
  double picked(std::size_t row, Picked way) const {
    const std::int64_t label = call_.labels[row];
    if (way == Picked::left_out) return 0;
    if (way == Picked::whole) return logit(row, label);
    const auto place = label % p_.columns();
    if (way == Picked::own) {
      return label / p_.columns() == rank_ ? logit(row, label) : 0;
    }
    if (way == Picked::from_zero && label >= p_.columns()) return 0;
    double total = 0;
    for (int rank = 0; rank < p_.ranks(); ++rank) {
      const std::int64_t column = rank * p_.columns() + place;
      if (column < p_.vocabulary) total += logit(row, column);
    }
    return total;
  }

  bool ignored(std::size_t row) const { return call_.labels[row] == p_.ignored_label; }
  std::size_t count() const { return call_.labels.size(); }
  // The factor of each row's loss.
  double weight(const Variant& way) const {
    const bool mean = (p_.reduction == ops::Reduction::mean) == way.divides;
    if (!mean) return 1;
    const auto kept = std::ranges::count_if(
        call_.labels, [&](auto label) { return way.counts_ignored || label != p_.ignored_label; });
    return 1 / static_cast<double>(kept);
  }

 private:
  const Problem& p_;
  const Call& call_;
  int rank_;
};

double loss_of(const Problem& p, const Call& call, int rank, const Variant& way) {
  const Rows rows(p, call, rank);
  double total = 0;
  for (std::size_t row = 0; row < rows.count(); ++row) {
    if (rows.ignored(row)) continue;
    const double most = way.maximum == Maximum::left_out ? 0 : rows.maximum(row, way.maximum);
    Variant inner{.maximum = way.maximum, .sum = way.sum};
    if (way.maximum == Maximum::left_out) inner.maximum = Maximum::whole;
    if (way.maximum == Maximum::late) inner.maximum = Maximum::own;
    total += std::log(rows.sum(row, inner)) + (most - rows.picked(row, way.picked));
  }
  return total * rows.weight(way) * way.factor;
}

Numbers gradient_of(const Problem& p, const Call& call, int rank, const Variant& way) {
  const Rows rows(p, call, rank);
  Numbers all(rows.count() * at(p.vocabulary), 0.0);
  const double weight = rows.weight(way) * way.factor * call.gradient;
  for (std::size_t row = 0; row < rows.count(); ++row) {
    const std::int64_t label = call.labels[row];
    if (rows.ignored(row) && !way.counts_ignored) continue;
    const double most = rows.maximum(row, way.maximum), sum = rows.sum(row, way);
    for (std::int64_t c = 0; c < p.vocabulary; ++c) {
      double one = c == label ? 1 : 0;
      if (way.picked == Picked::left_out) one = 0;
      if (way.picked == Picked::on_every_rank && !rows.ignored(row)) {
        one = c % p.columns() == label % p.columns() ? 1 : 0;
      }
      if (way.picked == Picked::from_zero) one = c % p.columns() == label ? 1 : 0;
      all[row * at(p.vocabulary) + at(c)] =
          weight * (std::exp(rows.logit(row, c) - most) / sum - one);
    }
  }
  return all;
}

struct Told {
  Cause cause;
  Variant way;
};

const Cause padding_counts{
    "padding",
    "columns of padding went into it; only the vocabulary's columns count, and the last ranks may "
    "have none"};

std::vector<Told> mistakes_of_loss(const Problem& p) {
  const double n = p.ranks();
  const Cause own_sum{"own_sum",
                      "the sum of exponentials is that of the rank's own columns; add "
                      "up all ranks'"};
  const Cause own_maximum{"own_maximum",
                          "each rank takes its exponentials from its own maximum, and sums from "
                          "different maxima cannot be added; reduce the maximum first"};
  return {
      {{"own_softmax",
        "this is the loss of a softmax over the rank's own columns; the maximum, the sum and the "
        "label's logit belong to the whole row"},
       {.maximum = Maximum::own, .sum = Sum::own, .picked = Picked::own}},
      {own_sum, {.sum = Sum::own}},
      {own_sum, {.sum = Sum::own, .picked = Picked::own}},
      {own_maximum, {.maximum = Maximum::own}},
      {own_maximum, {.maximum = Maximum::late}},
      {{"own_label",
        "the label's logit is known to the rank that has its column; the others have 0, and the "
        "sum over the ranks is the logit"},
       {.picked = Picked::own}},
      {{"label_on_every_rank",
        "every rank takes the logit at the label's place in its own columns; only the rank that "
        "has "
        "the label's column contributes"},
       {.picked = Picked::on_every_rank}},
      {{"first_left_out",
        "every rank counts its columns from 0; the first column of a rank is share.first of the "
        "whole row"},
       {.picked = Picked::from_zero}},
      {{"no_label", "the label's logit is not subtracted"}, {.picked = Picked::left_out}},
      {{"no_maximum", "the maximum was taken out of the exponentials, and not added to the log"},
       {.maximum = Maximum::left_out}},
      {padding_counts, {.maximum = Maximum::with_padding, .sum = Sum::with_padding}},
      {padding_counts, {.sum = Sum::with_padding}},
      {{"times_ranks",
        text("the loss was added up over the ", p.ranks(), " ranks, each of which has it already")},
       {.factor = n}},
      {{"ignored_counts", "rows whose label is ignored are among those that the mean divides by"},
       {.counts_ignored = true}},
      {{"other_reduction", "options.reduction asks for the other of mean and sum"},
       {.divides = false}},
  };
}

std::vector<Told> mistakes_of_slopes(const Problem& p, const Call& call) {
  const double n = p.ranks();
  return {
      {{"label_on_every_rank",
        "1 is subtracted at the label's place in every rank's columns; only the rank that has the "
        "label's column subtracts it"},
       {.picked = Picked::on_every_rank}},
      {{"no_label", "1 has to be subtracted in the label's column"}, {.picked = Picked::left_out}},
      {{"own_sum", "the exponentials are divided by the sum of the rank's own columns"},
       {.sum = Sum::own}},
      {{"own_maximum", "the exponentials are taken from the rank's own maximum"},
       {.maximum = Maximum::own}},
      {{"own_softmax", "this is a softmax over the rank's own columns"},
       {.maximum = Maximum::own, .sum = Sum::own}},
      {padding_counts, {.maximum = Maximum::with_padding, .sum = Sum::with_padding}},
      {{"ignored_counts",
        "a row whose label is ignored has the gradient 0, and is none of those "
        "that the mean divides by"},
       {.counts_ignored = true}},
      {{"other_reduction", "options.reduction asks for the other of mean and sum"},
       {.divides = false}},
      {{"times_ranks", text("the gradient was added up over the ", p.ranks(),
                            " ranks: it is local, and each rank "
                            "has its own columns")},
       {.factor = n}},
      {{"divided_by_ranks",
        "the gradient is divided by the number of ranks, as in data parallelism; here all ranks "
        "compute one loss together"},
       {.factor = 1 / n}},
      {{"incoming_left_out", "the gradient of the loss, which comes in, is not multiplied by"},
       {.factor = 1 / call.gradient}},
  };
}

}  // namespace

Loss right_loss(const Problem& p, const Call& call) {
  return {loss_of(p, call, 0, {}), p.measured ? Numbers{} : gradient_of(p, call, 0, {})};
}

double tolerance_of(const Problem& p, const Call& call, double loss) {
  double most = std::max(1.0, std::fabs(loss));
  for (const double z : call.logits) {
    if (std::isfinite(z)) most = std::max(most, std::fabs(z));
  }
  const auto rows = static_cast<double>(call.labels.size());
  if (p.reduction == ops::Reduction::sum) most *= rows;
  // A logarithm, an exponential for each column, and two sums in another order.
  return p.dtype == DType::float64 ? 1e-13 * most : 1e-6 * most;
}

std::vector<double> tolerance_of(const Problem& p, const std::vector<double>& gradient) {
  Numbers all;
  for (const double value : gradient) {
    const double size = std::fabs(value);
    all.push_back(p.dtype == DType::float64 ? 1e-12 * std::max(1e-3, size)
                                            : 1e-6 + (1e-5 + 2 * epsilon_of(p.dtype)) * size);
  }
  return all;
}

Cause cause_of_loss(const Problem& p, const Call& call, int rank, double seen) {
  const double right = right_loss(p, call).loss;
  if (!std::isfinite(seen) && std::isfinite(right)) {
    return {"overflow",
            "an exponential of a large number, the log of a sum that has become 0, or a column of "
            "padding: exponentials are taken from the maximum of the whole row, over all ranks"};
  }
  const double near_enough = tolerance_of(p, call, right) * 10;
  for (const Told& one : mistakes_of_loss(p)) {
    if (std::fabs(loss_of(p, call, rank, one.way) - seen) <= near_enough) return one.cause;
  }
  if (std::fabs(seen - right) <= 1e-5 * std::max(1.0, std::fabs(right))) {
    return {"last_digits",
            "only the last digits are wrong: on the way, a number went through a "
            "smaller type"};
  }
  return {"other_loss",
          "no usual mistake gives it: compare the maximum, the sum of exponentials and the label's "
          "logit of a row with those of the whole row, one by one"};
}

std::vector<Mistake<std::vector<double>>> mistakes_of_gradient(const Problem& p, const Call& call,
                                                               int rank) {
  std::vector<Mistake<Numbers>> all;
  for (const Told& one : mistakes_of_slopes(p, call)) {
    all.push_back({one.cause, gradient_of(p, call, rank, one.way)});
  }
  return all;
}

}  // namespace lockstep::grader::vocab_parallel_cross_entropy
