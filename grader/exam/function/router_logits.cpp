#include "grader/exam/function/router_logits.hpp"

#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader {

RouterLogits logits_of(std::int64_t tokens, std::int64_t experts, std::vector<double> values) {
  return {{tokens, experts}, DType::float64, std::move(values)};
}

RouterLogits drawn_logits(CaseRunner& runner, std::int64_t tokens, std::int64_t experts,
                          double reach) {
  const std::uint64_t key = runner.draw();
  RouterLogits logits = logits_of(tokens, experts, {});
  for (std::int64_t i = 0; i < tokens * experts; ++i) {
    const double share = keyed_uniform(key, static_cast<std::uint64_t>(i));
    logits.values.push_back(reach * (2 * share - 1));
  }
  return logits;
}

RouterLogits many_equal_logits(std::int64_t tokens, std::int64_t experts, std::int64_t every) {
  RouterLogits logits = logits_of(tokens, experts, {});
  for (std::int64_t i = 0; i < tokens * experts; ++i) {
    logits.values.push_back(i % every == 0 ? 2 : 1);
  }
  return logits;
}

RouterLogits rounded_logits(RouterLogits logits, DType dtype) {
  logits.dtype = dtype;
  logits.values = as_doubles(dtype, to_bytes(dtype, logits.values));
  return logits;
}

RouterLogits first_tokens(RouterLogits logits, std::int64_t tokens) {
  logits.shape.at(0) = tokens;
  logits.values.resize(static_cast<std::size_t>(tokens * logits.experts()));
  return logits;
}

std::string text_of(const RouterLogits& logits) {
  if (logits.shape.size() != 2) {
    return text("logits of ", counted(std::ssize(logits.shape), "dimension"));
  }
  std::string words =
      text(counted(logits.tokens(), "token"), ", ", counted(logits.experts(), "expert"));
  if (logits.dtype != DType::float64) words += text(", ", name_of(logits.dtype));
  if (logits.values.empty()) return words;
  std::vector<std::string> shown;
  for (const double logit : logits.values) shown.push_back(number(logit));
  return text(words, ", logits ", listed(shown));
}

std::optional<std::int64_t> token_without_logit(const RouterLogits& logits) {
  for (std::size_t i = 0; i < logits.values.size(); ++i) {
    if (!std::isfinite(logits.values[i])) return static_cast<std::int64_t>(i) / logits.experts();
  }
  return std::nullopt;
}

std::optional<Failure> wrong_ending_of_logits(const RouterLogits& logits, const Ending& ending,
                                              const std::string& returned) {
  if (ending.kind == Ending::Kind::threw_other) return unexpected_error(ending, text_of(logits));
  const bool threw = ending.kind == Ending::Kind::threw_expected;
  const auto token = token_without_logit(logits);
  if (!token) {
    if (!threw) return std::nullopt;
    return because({"refuses_valid", "only logits that are no finite numbers are refused"},
                   {.message = text("finite logits were refused, with \"", ending.what, "\"")});
  }
  const std::string wanted = text("token ", *token);
  if (threw && ending.what.find(wanted) != std::string::npos) return std::nullopt;
  const std::string seen = threw ? ending.what : returned;
  return because(
      {"hides_what_is_no_number",
       "a NaN is neither larger nor smaller than any logit, so that experts would be "
       "chosen by chance; the check above your region says which token has it"},
      {.message = text("a logit of ", wanted, " is no finite number, but ",
                       threw ? "the error does not name that token: " : "there came ", seen),
       .expected = text("an Error that names ", wanted),
       .seen = seen});
}

double weight_tolerance(const RouterLogits& logits) {
  constexpr double reach_max = 1e5;
  double reach = 0;
  for (const double logit : logits.values) reach = std::max(reach, std::fabs(logit));
  return 1e-13 + 1e-15 * std::min(reach, reach_max);
}

bool same_route(const expert_parallel::Route& a, const expert_parallel::Route& b, double within) {
  if (a.token != b.token || a.expert != b.expert || a.choice != b.choice) return false;
  return std::fabs(a.weight - b.weight) <= within || (std::isnan(a.weight) && std::isnan(b.weight));
}

std::optional<std::size_t> other_route(const Routes& a, const Routes& b, double within) {
  std::size_t i = 0;
  while (i < std::min(a.size(), b.size()) && same_route(a[i], b[i], within)) ++i;
  if (i == a.size() && i == b.size()) return std::nullopt;
  return i;
}

}  // namespace lockstep::grader
