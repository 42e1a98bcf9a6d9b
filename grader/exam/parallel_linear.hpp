// The problem of a linear layer that is cut among ranks, and what all such exams ask of it. Which
// axis is cut, and what mistakes make, is the exam's own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grader/exam/layer_exam.hpp"

namespace lockstep::grader {

// Which shape of a case does not fit the others.
enum class Misfit : std::uint8_t { none, inputs, bias };

struct LinearProblem : LayerProblem {
  Axes lead{4};  // of x and y, without their last axis
  std::int64_t inputs = 5, outputs = 6;
  bool biased = true;
  std::int64_t fill = 1;  // of inputs and of outputs
  Misfit misfit = Misfit::none;

  DenseSizes sizes() const;
  Axes with_last(std::int64_t last) const;  // [..., last]
  std::int64_t bytes_of_output() const;
  std::int64_t bytes_of_input() const;
  std::string linear_words() const;  // "4 rows, 5 → 6, bias, …"
};

// Sets the fill of a layer's tensors: of last axes, and of both axes of matrices.
void fill_linear(const LinearProblem& p, Layer& layer);

// Forward, a rank holds its activations, and after backward the gradients of its `share` bytes of
// parameters, `of_what`; nothing else of their size.
void check_linear_memory(CaseRunner& runner, const Played& played, const LinearProblem& p,
                         const LayerService& seen, std::int64_t share, const std::string& of_what);

// The comparison of a layer with that of its memory; share_of gives the bytes of a rank's
// parameters.
template <typename Problem>
auto compare_with_memory(std::string of_what, std::int64_t (*share_of)(const Problem&)) {
  return [of_what, share_of](CaseRunner& runner, const Played& played, const Problem& p,
                             std::uint64_t, const LayerReports& reports, const LayerService& seen) {
    compare_layer(runner, played, p, reports, seen);
    check_linear_memory(runner, played, p, seen, share_of(p), of_what);
  };
}

// Also without a bias.
template <typename Problem>
std::vector<Problem> smaller_linear(const Problem& p, std::int64_t cut) {
  if (p.walk == LayerWalk::refused) return {};
  std::vector<Problem> offered = smaller_layers(p, cut);
  if (p.biased) offered.emplace_back(p).biased = false;
  return offered;
}

// The situations, types and orders that every linear layer is asked about: `judge_one` judges a
// problem of an exam, which draws it for so many ranks.
template <typename Problem>
struct LinearChecks {
  std::function<Problem(CaseRunner&, int ranks)> usual;
  std::function<void(CaseRunner&, const Problem&, Situations)> judge_one;

  void any_shape(CaseRunner& runner) const {
    for (const Axes& lead : {Axes{}, {0}, {1}, {2, 3}}) {
      Problem p = usual(runner, 3);
      p.lead = lead;
      Situations asked;
      if (lead.size() == 2) asked = {Situation::shapes};  // x of one dimension came before
      judge_one(runner, p, asked);
      p.biased = false;
      judge_one(runner, p, {});
    }
  }
  void any_type(CaseRunner& runner) const {
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
      Problem p = usual(runner, 3);
      p.dtype = dtype;
      judge_one(runner, p, {});
    }
  }
  void odd_values(CaseRunner& runner) const {
    for (const Odd odd : every_odd) {
      Problem p = usual(runner, 3);
      p.odd = odd;
      judge_one(runner, p, {});
      p.odd_in = LayerProblem::Where::gradient;
      judge_one(runner, p, {});
    }
  }
  void several_passes(CaseRunner& runner) const {
    Problem p = usual(runner, 3);
    p.back = {2, 0, 1};
    judge_one(runner, p, {});
    p.walk = LayerWalk::in_halves;
    p.back = {1, 0};
    judge_one(runner, p, {});
    p = usual(runner, 2);
    p.input = LayerInput::constant;
    judge_one(runner, p, {});
    p.walk = LayerWalk::in_halves;
    judge_one(runner, p, {});
  }
  void refusals(CaseRunner& runner) const {
    for (const Misfit misfit : {Misfit::inputs, Misfit::bias}) {
      Problem p = usual(runner, 3);
      p.walk = LayerWalk::refused;
      p.misfit = misfit;
      judge_one(runner, p, {});
    }
  }
};

}  // namespace lockstep::grader
