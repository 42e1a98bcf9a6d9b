#include "grader/exam/ranks/gradient_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader {
namespace {

[[noreturn]] void fail(CaseRunner& runner, const Played& played, std::string cause,
                       std::string message, std::string expected, std::string seen,
                       std::string where) {
  Failure failure;
  failure.cause = std::move(cause);
  failure.message = std::move(message);
  failure.expected = std::move(expected);
  failure.seen = std::move(seen);
  failure.where = std::move(where);
  runner.fail(played, std::move(failure));
}

void check_presence(CaseRunner& runner, const Played& played, const GradientPlan& plan,
                    std::size_t i, int rank, const GradientReport& report) {
  const auto where = text("rank ", rank, ", parameter ", i);
  if (report.defined != (plan.has_grad[i] != 0)) {
    fail(runner, played, report.defined ? "gradient_invented" : "gradient_lost",
         report.defined
             ? text("parameter ", i, " has a gradient on rank ", rank,
                    " now, though no rank had one; a parameter without a gradient must stay "
                    "without one; otherwise weight decay and momentum move it")
             : text("parameter ", i, " lost its gradient on rank ", rank,
                    ", so the optimizer would skip it. Leave the mean in parameter.grad"),
         plan.has_grad[i] ? "a gradient" : "no gradient",
         report.defined ? "a gradient" : "no gradient", where);
  }
  const auto value = as_doubles(plan.dtype_of(i), report.value);
  const bool whole = std::cmp_equal(value.size(), plan.sizes[i]);
  if (!whole || !std::all_of(value.begin(), value.end(), [](double v) { return v == 1.0; })) {
    fail(runner, played, "value_changed",
         text("the value of parameter ", i, " changed on rank ", rank,
              "; average only the gradients"),
         "an unchanged value", "another value", where);
  }
}

std::string text_of_shape(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += text(i > 0 ? ", " : "", shape[i]);
  return out + "]";
}

void check_type(CaseRunner& runner, const Played& played, const GradientPlan& plan, std::size_t i,
                int rank, const GradientReport& report) {
  const DType right = plan.dtype_of(i);
  if (report.dtype == right) return;
  fail(runner, played, "type_changed",
       text("the gradient of parameter ", i, " on rank ", rank, " is now ", name_of(report.dtype),
            "; keep it ", name_of(right), ", the type of its parameter"),
       std::string(name_of(right)), std::string(name_of(report.dtype)),
       text("rank ", rank, ", parameter ", i));
}

void check_shape(CaseRunner& runner, const Played& played, const GradientPlan& plan, std::size_t i,
                 int rank, const GradientReport& report) {
  const Shape right = shape_of_parameter(plan.sizes[i]);
  if (std::equal(report.shape.begin(), report.shape.end(), right.begin(), right.end())) return;
  const std::vector<std::int64_t> wanted(right.begin(), right.end());
  fail(runner, played, "shape_lost",
       text("the numbers are right, but the gradient of parameter ", i, " on rank ", rank,
            " has the shape ", text_of_shape(report.shape), " and its parameter has the shape ",
            text_of_shape(wanted),
            "; reduce a view of the gradient, and keep parameter.grad itself as it is"),
       text_of_shape(wanted), text_of_shape(report.shape), text("rank ", rank, ", parameter ", i));
}

void make_odd(std::vector<double>& values, Held held, std::size_t i, int rank) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool on_one = held == Held::zeros_on_one || (held == Held::odd && i % 4 == 3);
  if (held == Held::zeros || (on_one && rank == 1)) std::ranges::fill(values, 0);
  if (held != Held::odd || values.empty() || rank > 1) return;
  double& middle = values[values.size() / 2];
  if (i % 4 == 0 && rank == 1) middle = std::numeric_limits<double>::quiet_NaN();
  if (i % 4 == 1 && rank == 1) middle = infinity;
  if (i % 4 == 2) middle = rank == 1 ? -infinity : infinity;
}

// True if a collective had twice the bytes of a gradient of a half type, or of all of them.
bool travels_wider(const sim::Counters& counters, const GradientPlan& plan) {
  if (bytes_of(plan.dtype) != 2) return false;
  std::vector<std::int64_t> wide{2 * plan.bytes()};
  for (const std::int64_t size : plan.sizes) wide.push_back(4 * size);
  return std::any_of(counters.collectives.begin(), counters.collectives.end(),
                     [&](const sim::CollectiveRecord& record) {
                       return record.bytes > 0 &&
                              std::find(wide.begin(), wide.end(), record.bytes) != wide.end();
                     });
}

}  // namespace

std::string name_of(Held held) {
  switch (held) {
    case Held::odd:
      return ", some values not finite";
    case Held::zeros_on_one:
      return ", rank 1 has zeros";
    case Held::zeros:
      return ", nothing but zeros";
    case Held::large:
      return ", a sum of which overflows";
    case Held::usual:
      break;
  }
  return {};
}

void ask_of(const Gradients& gradients, Situations& asked) {
  std::vector<double> all;
  bool scalar = false, cube = false;
  for (std::size_t i = 0; i < gradients.sizes.size(); ++i) {
    const auto values = as_doubles(gradients.dtype_of(i), gradients.grads[i]);
    all.insert(all.end(), values.begin(), values.end());
    const Shape shape = shape_of_parameter(gradients.sizes[i]);
    scalar = scalar || shape.empty();
    cube = cube || shape.size() == 3;
  }
  ask_of_values(all, asked);
  if (scalar && cube) asked.insert(Situation::shapes);
  if (gradients.dtype == DType::float64) asked.insert(Situation::double_digits);
  if (gradients.dtype == every_gradient_dtype[2]) asked.insert(Situation::every_dtype);
}

std::int64_t GradientPlan::bytes() const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (has_grad[i]) bytes += sizes[i] * static_cast<std::int64_t>(bytes_of(dtype_of(i)));
  }
  return bytes;
}

std::vector<double> drawn_gradient(const GradientPlan& plan, std::uint64_t salt, int rank,
                                   std::size_t i, double scale) {
  std::vector<double> values(static_cast<std::size_t>(plan.sizes[i]));
  for (std::size_t e = 0; e < values.size(); ++e) {
    const std::uint64_t bits = keyed_bits(
        salt, (static_cast<std::uint64_t>(e) * 64 + i) * 16 + static_cast<std::uint64_t>(rank));
    const double size = plan.all_digits ? static_cast<double>(bits >> 11) * 0x1.0p-53 + 0.5
                                        : static_cast<double>(bits >> 40) * 0x1.0p-24 + 0.5;
    values[e] = size * (1 + rank) * (bits & 1 ? 1.0 : -1.0) * scale + 0.0;  // no -0
    // From 0.55 to 0.95 of the largest number, with one sign on all ranks.
    if (plan.held == Held::large) {
      values[e] = largest_finite(plan.dtype_of(i)) * (0.4 * size + 0.35) * (e % 2 ? 1.0 : -1.0);
    }
  }
  make_odd(values, plan.held, i, rank);
  return as_doubles(plan.dtype_of(i), to_bytes(plan.dtype_of(i), values));
}

Gradients drawn_gradients(const GradientPlan& plan, std::uint64_t salt, int rank, double scale) {
  Gradients gradients{
      plan.dtype, 0, plan.sizes, plan.has_grad, std::vector<Bytes>(plan.sizes.size()), plan.dtypes};
  gradients.allocation_seed = keyed_bits(salt, 1'000'000 + static_cast<std::uint64_t>(rank)) >> 32;
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    if (!plan.has_grad[i]) continue;
    gradients.grads[i] = to_bytes(plan.dtype_of(i), drawn_gradient(plan, salt, rank, i, scale));
  }
  return gradients;
}

void check_gradient(CaseRunner& runner, const Played& played, const GradientPlan& plan,
                    std::size_t i, const std::vector<GradientReports>& of_ranks,
                    const ExpectedGradient& expected) {
  for (int rank = 0; std::cmp_less(rank, of_ranks.size()); ++rank) {
    const GradientReports& reports = of_ranks[static_cast<std::size_t>(rank)];
    if (reports.size() != plan.sizes.size()) throw MalformedMessage("not a report a parameter");
    const GradientReport& report = reports[i];
    check_presence(runner, played, plan, i, rank, report);
    if (!report.defined) continue;
    check_type(runner, played, plan, i, rank, report);
    const auto where = text("rank ", rank, ", parameter ", i);
    const auto seen = as_doubles(plan.dtype_of(i), report.grad);
    if (const auto at = first_difference(seen, expected.values, expected.tolerance)) {
      Cause cause{"length", "the size of the gradient changed"};
      if (const auto odd = cause_by_finiteness(seen, expected.values, *at)) {
        cause = *odd;
      } else if (seen.size() == expected.values.size()) {
        cause = expected.likely_cause(seen, rank);
      }
      const auto shown = *at < seen.size() ? number(seen[*at], plan.dtype) : "nothing";
      const auto wanted =
          *at < expected.values.size() ? number(expected.values[*at], plan.dtype) : "nothing";
      runner.fail(played,
                  because(cause, {.message = text("element ", *at, " of the gradient of parameter ",
                                                  i, " is ", shown, " on rank ", rank, " where ",
                                                  expected.name, " is ", wanted),
                                  .expected = wanted,
                                  .seen = shown,
                                  .where = text(where, ", element ", *at)}));
    }
    const Bytes& of_rank_0 = of_ranks.front()[i].grad;
    if (report.grad != of_rank_0 &&
        first_other_bits(seen, as_doubles(plan.dtype_of(i), of_rank_0))) {
      fail(runner, played, "bits_differ",
           text("parameter ", i, ": ranks 0 and ", rank,
                " hold means that differ in their last bits; "
                "likely cause: each rank sums in its own order, so the replicas drift apart"),
           "the same bits on every rank", "different bits", where);
    }
    check_shape(runner, played, plan, i, rank, report);
  }
}

void check_one_reduction(CaseRunner& runner, const Played& played, const GradientPlan& plan,
                         int ranks) {
  const double allowed = ring_bytes(plan.bytes(), ranks);
  const double sent = busiest_rank_bytes(played.counters);
  // A tenth for a count or a flag that travels along; a second copy of the gradients does not fit.
  if (sent <= allowed * 1.1) return;
  const bool wider = travels_wider(played.counters, plan);
  runner.fail(
      played,
      wasteful(
          wider ? "wider_type" : "too_many_bytes", sent, allowed, "per rank",
          text("the mean is right, but a rank sends ", number(sent),
               " bytes where one all-reduce of ", plan.bytes(),
               " bytes of gradients needs 2(N-1)/N of them, ", number(allowed), "; likely cause: ",
               wider ? text("gradients of ", name_of(plan.dtype),
                            " travel in a wider type; all-reduce them in their own type")
                     : "more travels than one all-reduce: whole gradients are gathered, reduced "
                       "twice, or reduced to one rank and broadcast from there")));
}

bool resembles(std::span<const double> seen, std::span<const double> expected) {
  return std::equal(
      seen.begin(), seen.end(), expected.begin(), expected.end(),
      [](double a, double b) { return std::fabs(a - b) <= 1e-4 * std::fabs(b) + 1e-6; });
}

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace lockstep::grader
