// For exams of parts that choose by a router's logits: drawn logits, words for them and for routes,
// and the refusal of a logit that is no number.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/judge/case_runner.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/expert_routes.hpp"

namespace lockstep::grader {

using Routes = std::vector<expert_parallel::Route>;

// Logits of float64.
RouterLogits logits_of(std::int64_t tokens, std::int64_t experts, std::vector<double> values);
// From -reach to reach, with more digits than a float32 has.
RouterLogits drawn_logits(CaseRunner& runner, std::int64_t tokens, std::int64_t experts,
                          double reach = 3);
// All equal, or with a larger one at every so many: a sort that does not keep the order of equal
// ones changes it where there are more than some dozen.
RouterLogits many_equal_logits(std::int64_t tokens, std::int64_t experts, std::int64_t every = 1);
// The same rounded to a type.
RouterLogits rounded_logits(RouterLogits logits, DType dtype);
// Keeps the first tokens alone.
RouterLogits first_tokens(RouterLogits logits, std::int64_t tokens);

// "2 tokens, 3 experts, float32, logits [0, 1.0986123, …]"
std::string text_of(const RouterLogits& logits);

// The token of the first logit that is no finite number.
std::optional<std::int64_t> token_without_logit(const RouterLogits& logits);

// Finds what is wrong with how a call ended: with an Error that names such a token, if there is
// one, and normally otherwise.
//   returned  what came back, in words: "4 routes"
std::optional<Failure> wrong_ending_of_logits(const RouterLogits& logits, const Ending& ending,
                                              const std::string& returned);

// The error of a weight: a few roundings, and those of a logarithm of large logits.
double weight_tolerance(const RouterLogits& logits);
// Two routes, with weights that may differ by `within`.
bool same_route(const expert_parallel::Route& a, const expert_parallel::Route& b, double within);
// The first place at which two lists differ, or the end of the shorter one.
std::optional<std::size_t> other_route(const Routes& a, const Routes& b, double within);

}  // namespace lockstep::grader
