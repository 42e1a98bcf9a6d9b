// The cases: what is drawn, and what of it a rank is given.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/12_tensor_parallel/vocab_parallel_cross_entropy/oracle.hpp"

namespace lockstep::grader::vocab_parallel_cross_entropy {
namespace {

using Limits = std::numeric_limits<double>;

double drawn_logit(const Problem& p, std::uint64_t salt, std::size_t row, std::int64_t column) {
  const int rank = static_cast<int>(column / p.columns());
  const std::int64_t last = std::max<std::int64_t>(0, (p.vocabulary - 1) / p.columns());
  const double usual = 6 * keyed_uniform(salt, row * 100'003 + at(column)) - 3;
  const double place =
      last == 0 ? 1 : static_cast<double>(2 * rank - last) / static_cast<double>(last);
  const bool odd_one = column == last * p.columns() && row == 1;
  switch (p.logits) {
    case Logits::in_turn:
      return static_cast<double>(column % p.columns() % 8);
    case Logits::low_to_high:
      return 10'000 * place + usual;
    case Logits::high_to_low:
      return -10'000 * place + usual;
    case Logits::far_down:
      return -10'000 + usual;
    case Logits::not_a_number:
      return odd_one ? Limits::quiet_NaN() : usual;
    case Logits::infinity:
      return odd_one ? Limits::infinity() : usual;
    case Logits::nothing:
      return rank == 0 ? -Limits::infinity() : usual;
    case Logits::zeros:
      return rank == 0 ? 0 : usual;
    case Logits::usual:
      break;
  }
  return usual;
}

double padded_logit(const Problem& p, std::size_t row, std::int64_t column) {
  if (p.padding == Padding::numbers) return 4;  // more than any logit of a usual case
  const double odd[] = {Limits::quiet_NaN(), 6e4, Limits::infinity(), -Limits::infinity()};
  return odd[(row + at(column)) % 4];
}

}  // namespace

std::int64_t Problem::rows(std::size_t call) const {
  const auto& shape = shapes.at(call);
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string Problem::description() const {
  static const char* const of_logits[] = {"",
                                          ", logits 0 … 7 in turn",
                                          ", logits from -10,000 on rank 0 to 10,000",
                                          ", logits from 10,000 on rank 0 to -10,000",
                                          ", logits around -10,000",
                                          ", a NaN among the logits of one rank",
                                          ", an infinity among the logits of one rank",
                                          ", all logits of rank 0 are -∞",
                                          ", all logits of rank 0 are 0"};
  static const char* const of_refusals[] = {"",
                                            ", a label of -1",
                                            ", a label behind the vocabulary",
                                            ", a label beyond all columns",
                                            ", every label is ignored",
                                            ", logits of a column less",
                                            ", logits of a column more"};
  std::string all = text(
      members.description(), ", vocabulary of ", grouped(vocabulary), ", ",
      shapes.size() == 1 ? text(grouped(rows(0)), " rows of ") : text(shapes.size(), " losses, "),
      name_of(dtype));
  all += of_logits[static_cast<std::size_t>(logits)];
  if (padding == Padding::odd) all += ", NaN and infinity in the padding";
  if (labels != Labels::usual)
    all +=
        labels == Labels::some_ignored ? ", some labels are ignored" : ", all labels are ignored";
  if (reduction == ops::Reduction::sum) all += ", sum";
  if (walk == VocabWalk::inference) all += ", inference";
  return all + of_refusals[static_cast<std::size_t>(refused)];
}

Call drawn_call(const Problem& p, std::uint64_t salt, std::size_t number) {
  const std::uint64_t own = keyed_bits(salt, 1000 + number);
  const std::int64_t width = p.columns() * p.ranks();
  Call call;
  call.gradient = number % 2 == 0 ? 1.5 : -0.25;  // that no type rounds
  for (std::size_t row = 0; row < at(p.rows(number)); ++row) {
    for (std::int64_t c = 0; c < width; ++c) {
      call.logits.push_back(c < p.vocabulary ? drawn_logit(p, own, row, c)
                                             : padded_logit(p, row, c));
    }
    // Rows go through the ranks, the last one first.
    const auto place = static_cast<std::int64_t>(keyed_bits(own, row) % at(p.columns()));
    const auto rank = p.ranks() - 1 - static_cast<std::int64_t>(row) % p.ranks();
    std::int64_t label = (rank * p.columns() + place) % p.vocabulary;
    if (p.logits == Logits::in_turn) label = 2 * static_cast<std::int64_t>(row + number);
    const bool ignored = p.labels == Labels::all_ignored || p.refused == Refused::all_ignored ||
                         (p.labels == Labels::some_ignored && row % 3 == 1);
    call.labels.push_back(ignored ? p.ignored_label : label);
  }
  call.logits = as_doubles(p.dtype, to_bytes(p.dtype, call.logits));
  if (p.refused == Refused::label_below) call.labels.back() = -1;
  if (p.refused == Refused::label_behind) call.labels.back() = p.vocabulary;
  if (p.refused == Refused::label_far) call.labels.back() = width + 1'000'000;
  return call;
}

VocabCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  VocabCase one{.dtype = p.dtype,
                .walk = p.refused == Refused::nothing ? p.walk : VocabWalk::refused};
  const std::int64_t width = p.columns() * p.ranks(), first = rank * p.columns();
  for (std::size_t k = 0; k < p.shapes.size(); ++k) {
    Call whole = drawn_call(p, salt, k);
    VocabCall& call = one.calls.emplace_back();
    call = {.vocabulary = p.vocabulary,
            .columns = p.columns(),
            .shape = p.shapes[k],
            .labels = std::move(whole.labels),
            .reduction = p.reduction,
            .ignored_label = p.ignored_label,
            .gradient = whole.gradient};
    if (p.refused == Refused::column_missing) --call.columns;
    if (p.refused == Refused::column_too_many) ++call.columns;
    std::vector<double> mine;
    for (std::int64_t row = 0; row < p.rows(k); ++row) {
      for (std::int64_t c = 0; c < call.columns; ++c) {
        mine.push_back(whole.logits[at(row * width + std::min(first + c, width - 1))]);
      }
    }
    call.logits = to_bytes(p.dtype, mine);
  }
  return one;
}

Dealt deal_of(const Problem& p, std::size_t call) {
  std::vector<Dealt::Whole> wholes;
  std::vector<std::vector<std::int64_t>> places(at(p.ranks()));
  for (std::int64_t row = 0; row < p.rows(call); ++row) {
    wholes.push_back({text("row ", row), p.vocabulary});
    for (std::int64_t c = 0; c < p.columns() * p.ranks(); ++c) {
      places[at(c / p.columns())].push_back(c < p.vocabulary ? row * p.vocabulary + c
                                                             : Dealt::padding);
    }
  }
  return {std::move(wholes), std::move(places)};
}

}  // namespace lockstep::grader::vocab_parallel_cross_entropy
