#include "grader/exam/layer/parallel_linear.hpp"

namespace lockstep::grader {

DenseSizes LinearProblem::sizes() const {
  DenseSizes all{1, inputs, outputs};
  for (const std::int64_t size : lead) all.rows *= size;
  return all;
}

Axes LinearProblem::with_last(std::int64_t last) const {
  Axes all = lead;
  all.push_back(last);
  return all;
}

std::int64_t LinearProblem::bytes_of_output() const {
  return sizes().rows * outputs * static_cast<std::int64_t>(bytes_of(dtype));
}
std::int64_t LinearProblem::bytes_of_input() const {
  return sizes().rows * inputs * static_cast<std::int64_t>(bytes_of(dtype));
}

std::string LinearProblem::linear_words() const {
  const std::int64_t rows = sizes().rows;
  return text(inputs, " → ", outputs, ", x of ", lead.size() + 1,
              lead.empty() ? " dimension" : " dimensions", ", ", rows, rows == 1 ? " row" : " rows",
              biased ? "" : ", no bias",
              misfit == Misfit::inputs        ? ", x has one column too many"
              : misfit == Misfit::bias        ? ", the bias has one element too many"
              : misfit == Misfit::bias_of_one ? ", the bias has one element"
                                              : "");
}

void check_linear_memory(CaseRunner& runner, const Played& played, const LinearProblem& p,
                         const LayerService& seen, std::int64_t share, const std::string& of_what) {
  constexpr std::int64_t activations = 128 << 10;
  const Cause cause{"weight_twice",
                    "something as large as this rank's weight lives on: a copy of it, a transposed "
                    "one, or one that was gathered"};
  // The adapter has its rows as a tensor, and the case in two forms: as it came, and taken apart.
  const std::int64_t adapter = 3 * share;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    check_member_memory(runner, played, rank, seen.of(rank).forward,
                        {.tensor_bytes = activations,
                         .adapter_bytes = adapter,
                         .of_what = "the activations of a forward pass",
                         .cause = cause});
    if (!p.trains()) continue;
    check_member_memory(runner, played, rank, seen.of(rank).backward,
                        {.tensor_bytes = share + activations,
                         .adapter_bytes = adapter,
                         .of_what = of_what,
                         .cause = cause});
  }
}

}  // namespace lockstep::grader
