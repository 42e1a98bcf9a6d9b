// The exam of online_softmax: partial results of a query, which the judge draws, are merged in some
// order. The judge merges them number by number.
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/exam/function/odd_values.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/15_sequence_parallel/online_softmax/case.hpp"

namespace lockstep::grader::online_softmax {
namespace {

using sequence_parallel::Partial;
using Question = MergeQuestion;

constexpr double no_key = -std::numeric_limits<double>::infinity();

// Merges `b` into `a`. The larger weight of a finite pair is 1.
void absorb(Partial& a, const Partial& b) {
  if (a.log_sum == no_key && b.log_sum == no_key) return;
  const double most = std::max(a.log_sum, b.log_sum);
  const double of_a = std::exp(a.log_sum - most), of_b = std::exp(b.log_sum - most);
  const double sum = of_a + of_b;
  for (std::size_t d = 0; d < a.output.size(); ++d) {
    a.output[d] = (of_a * a.output[d] + of_b * b.output[d]) / sum;
  }
  a.log_sum = most + std::log(sum);
}

// The partial result that the merges of a question leave at place 0.
Partial merged(const Question& q) {
  std::vector<Partial> all = q.partials;
  for (const auto& [into, from] : q.merges) {
    absorb(all[static_cast<std::size_t>(into)], all[static_cast<std::size_t>(from)]);
  }
  return all.front();
}

std::string text_of(const Question& q) {
  std::string words = text(counted(std::ssize(q.partials), "partial result"), " with log-sums ");
  constexpr std::size_t shown = 8;
  std::string comma;
  for (std::size_t k = 0; k < std::min(shown, q.partials.size()); ++k) {
    words += text(std::exchange(comma, ", "), number(q.partials[k].log_sum));
  }
  comma = "; merged: ";
  for (std::size_t k = 0; k < std::min(shown, q.merges.size()); ++k) {
    words += text(std::exchange(comma, ", "), q.merges[k][1], " into ", q.merges[k][0]);
  }
  return words;
}

// A log-sum is rounded in each merge, and so every weight is off by as much of itself.
double tolerance_of(const Question& q) {
  double most = 1;
  for (const Partial& one : q.partials) {
    if (std::isfinite(one.log_sum)) most = std::max(most, std::fabs(one.log_sum));
  }
  return 1e-13 + 1e-15 * most * static_cast<double>(q.merges.size());
}

// The output, and the log-sum behind it.
std::vector<double> numbers_of(const Partial& of) {
  std::vector<double> all = of.output;
  all.push_back(of.log_sum);
  return all;
}

// Elements are compared by the size of what is added: sums of the smallest numbers are right to a
// digit of those.
std::optional<std::size_t> other_number(const Question& q, const Partial& seen,
                                        const Partial& right, double times = 1) {
  std::vector<double> tolerance;
  for (std::size_t d = 0; d < right.output.size(); ++d) {
    double size = 0, most = 0;
    for (const Partial& one : q.partials) {
      const double own = std::isfinite(one.output[d]) ? std::fabs(one.output[d]) : 0;
      const double share = std::exp(one.log_sum - right.log_sum);
      size += (std::isfinite(share) ? share : 1) * own;
      most = std::max(most, own);
    }
    // A weight near 1 may be what another one leaves of it.
    const double left = 0x1p-51 * most * static_cast<double>(q.merges.size());
    tolerance.push_back(times * (tolerance_of(q) * size + left + 0x1p-1073));
  }
  tolerance.push_back(times * tolerance_of(q));
  std::vector<double> is = numbers_of(seen), wanted = numbers_of(right);
  // Beside an infinite log-sum, the merged one is that or NaN.
  if (std::isnan(right.log_sum) && is.back() == -no_key) is.back() = wanted.back();
  return first_difference(is, wanted, tolerance);
}

Cause cause_of(const Question& q, const Partial& seen, const Partial& right, std::size_t at) {
  const std::vector<double> is = numbers_of(seen), wanted = numbers_of(right);
  const bool no_number = std::isnan(is[at]) && !std::isnan(wanted[at]);
  const auto empty = [](const Partial& one) { return one.log_sum == no_key; };
  if (no_number && std::ranges::any_of(q.partials, empty)) {
    return {"nothing_minus_nothing",
            "if both log-sums are -∞, their difference is NaN. Such a query has seen no key yet, "
            "and stays as it is"};
  }
  if (no_number || (std::isinf(is[at]) && std::isfinite(wanted[at]))) {
    return {"overflow",
            "an exponential of a large number is infinite: subtract the larger log-sum of the two "
            "first, so that no exponent is above 0"};
  }
  if (auto odd = cause_by_finiteness(is, wanted, at)) return *odd;
  if (!other_number(q, seen, right, 1e7)) {
    return {"rounded", "only the last digits are wrong: on the way a double became a float"};
  }
  if (at == right.output.size()) {
    return {
        "other_log_sum",
        "the output is right; the log-sum is log(e^a + e^b) of the two, that is the larger one "
        "plus log(1 + e^-|a - b|), also of an output of zeros: only -∞ says that no key was seen"};
  }
  const auto unchanged = [&](std::size_t d) { return is[d] == q.partials.front().output[d]; };
  std::size_t end = at;
  while (end < right.output.size() && unchanged(end)) ++end;
  if (at > 0 && end == right.output.size()) {
    return {"elements_left", text("the first ", counted(at, "element"), at == 1 ? " is" : " are",
                                  " right, and those behind are into's old ones: the loop goes "
                                  "over all elements of the output")};
  }
  return {"other_weights",
          "the weight of each output is e^(its log-sum - the merged log-sum); the two weights add "
          "up to 1"};
}

std::optional<Failure> wrong(std::span<const Question> asked, const MergeAnswer& answer) {
  const Question& q = asked.back();
  const Partial& seen = answer.merged;
  const Partial right = merged(q);
  if (seen.output.size() != right.output.size()) {
    return because({"wrong_size", "every block has as many elements as what it is merged into"},
                   {.message = text("the merged output has ", seen.output.size(),
                                    " elements where the blocks have ", right.output.size()),
                    .expected = text(right.output.size()),
                    .seen = text(seen.output.size())});
  }
  if (const auto at = other_number(q, seen, right)) {
    const std::vector<double> is = numbers_of(seen), wanted = numbers_of(right);
    const std::string what = *at < right.output.size()
                                 ? text("element ", *at, " of the merged output")
                                 : std::string("the merged log-sum");
    return because(cause_of(q, seen, right, *at),
                   {.message = text(what, " is ", number_at(is, *at), " where ",
                                    number_at(wanted, *at), " is right"),
                    .expected = number_at(wanted, *at),
                    .seen = number_at(is, *at)});
  }
  if (!answer.changed) return std::nullopt;
  return because({"block_changed", "`block` belongs to the caller; write into `into` alone"},
                 {.message = "the result is right, but a block that was merged into another is not "
                             "any more what it was"});
}

std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  if (q.merges.size() > 1) offered.emplace_back(q).merges.pop_back();
  if (q.partials.front().output.size() > 1) {
    for (Partial& one : offered.emplace_back(q).partials) one.output.resize(1);
  }
  return offered;
}

FunctionContract<Question, MergeAnswer> contract() {
  return {.text_of = text_of,
          .wrong = wrong,
          .smaller = smaller,
          .sizes = [](const Question& q) -> Sizes {
            return {0, {std::ssize(q.partials.front().output), std::ssize(q.merges)}};
          },
          .situations = [](const Question&) -> std::vector<Situation> {
            return {Situation::double_digits};
          }};
}

// Draws blocks of D elements from -1 to 1, whose log-sums are from -reach to reach.
class Drawer {
 public:
  explicit Drawer(CaseRunner& runner) : key_(runner.draw()) {}

  double between(double least, double most) {
    return least + (most - least) * keyed_uniform(key_, next_++);
  }
  Partial partial(int elements, double reach = 3) {
    Partial one{between(-reach, reach), {}};
    for (int d = 0; d < elements; ++d) one.output.push_back(between(-1, 1));
    return one;
  }
  // All blocks are merged into the first one, one after the other.
  Question in_a_row(int blocks, int elements) {
    Question q;
    for (int k = 0; k < blocks; ++k) {
      q.partials.push_back(partial(elements));
      if (k > 0) q.merges.push_back({0, k});
    }
    return q;
  }

 private:
  std::uint64_t key_, next_ = 0;
};

Question of_two(Partial into, Partial block) {
  Question q;
  q.partials = {std::move(into), std::move(block)};
  q.merges.push_back({0, 1});
  return q;
}

// e^0 = 1 and e^log 3 = 3: (1·1 + 3·5) / 4 = 4.
std::vector<Question> of_the_task(Drawer&) { return {of_two({0, {1}}, {std::log(3), {5}})}; }

std::vector<Question> any_size(Drawer& draw) {
  std::vector<Question> all;
  for (const int elements : {1, 2, 3, 8, 0, 7, 64, 131, 70'001}) {
    all.push_back(draw.in_a_row(2, elements));
  }
  // As much of both; and little of a block whose values are large.
  for (const double log_sum : {0.0, 1.25, -300.0}) {
    all.push_back(draw.in_a_row(3, 2));
    for (Partial& one : all.back().partials) one.log_sum = log_sum;
  }
  all.push_back(of_two({2, {1, -1}}, {-31, {1e10, -1e10}}));
  all.push_back(of_two({-31, {1e10, -1e10}}, {2, {1, -1}}));
  // The smallest numbers, and -0.
  all.push_back(of_two({0.5, {0x1p-1062, -0.0, -0x1p-1030, -0.0, 0x1p-1074}},
                       {1.5, {0x1p-1060, -0.0, 0x1p-1028, 0, 0x1p-1072}}));
  return all;
}

std::vector<Question> any_order(Drawer& draw) {
  std::vector<Question> all;
  for (const int blocks : {3, 4, 5, 9, 300}) all.push_back(draw.in_a_row(blocks, 3));
  for (Question q : {all[0], all[1], all[2]}) {
    std::ranges::reverse(q.merges);
    all.push_back(q);
  }
  Question tree = draw.in_a_row(8, 3);
  tree.merges = {{6, 7}, {4, 5}, {2, 3}, {0, 1}, {4, 6}, {0, 2}, {0, 4}};
  all.push_back(tree);
  return all;
}

// Into nothing, nothing into something, nothing into nothing.
std::vector<Question> no_keys(Drawer& draw) {
  std::vector<Question> all;
  for (const auto& empty : {std::vector<std::size_t>{0}, {1}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    Question q = draw.in_a_row(3, 3);
    for (const std::size_t k : empty) q.partials[k] = {no_key, {0, 0, 0}};
    all.push_back(q);
  }
  return all;
}

std::vector<Question> large_log_sums(Drawer& draw) {
  std::vector<Question> all;
  for (const auto& log_sums : {std::vector<double>{1e4, 1e4 + 1},
                               {1e4 + 1, 1e4},
                               {-1e4, -1e4 - 1},
                               {-1e4, 1e4},
                               {1e4, -1e4},
                               {0, 800, -800, 1600, 1599.5},
                               {710, 0, 709.5},
                               {-745, -746}}) {
    Question& q = all.emplace_back(draw.in_a_row(static_cast<int>(log_sums.size()), 2));
    for (std::size_t k = 0; k < log_sums.size(); ++k) q.partials[k].log_sum = log_sums[k];
  }
  return all;
}

std::vector<Question> odd_values(Drawer& draw) {
  constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
  std::vector<Question> all;
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    Question q = draw.in_a_row(3, 3);
    q.partials[k].output[1] = no_number;  // of a value
    all.push_back(q);
    q.partials[k].output = {no_number, no_number, no_number};  // of a key: each score is one
    q.partials[k].log_sum = no_number;
    all.push_back(q);
    q.partials[k].log_sum = -no_key;  // of a score that overflowed
    all.push_back(q);
    q.partials[k].log_sum = -40;  // and of scores that are far below the others
    all.push_back(q);
    // A block with NaN goes into no key yet.
    q.partials[k].log_sum = no_number;
    q.partials[(k + 1) % 3] = {no_key, {0, 0, 0}};
    all.push_back(q);
  }
  return all;
}

Check check(const std::string& name, std::vector<Question> (*questions)(Drawer&)) {
  return {name, [questions](CaseRunner& runner) {
            Drawer draw(runner);
            judge(runner, contract(), "partial results", questions(draw));
          }};
}

}  // namespace

Exam exam() {
  return {
      check("the example of the task: 1 and 5, with weights 1 and 3, make 4", of_the_task),
      check("two blocks, of any number of elements and any digits", any_size),
      check("any number of blocks in any order, and merged ones merged", any_order),
      check("a query that has seen no key, in one of the two or in both", no_keys),
      check("log-sums of ±10,000, near each other and far apart", large_log_sums),
      check("what is not a number stays so, in its own element", odd_values),
  };
}

}  // namespace lockstep::grader::online_softmax
