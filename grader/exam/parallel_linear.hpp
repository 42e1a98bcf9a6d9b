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

// The checks of every exam of a linear layer, and parts of an exam's own.
template <typename Problem>
struct LinearChecks {
  std::function<Problem(CaseRunner&, int ranks)> usual;  // draws a problem for so many ranks
  std::function<LayerContract<Problem>(CaseRunner&)> contract_of;

  void judge_one(CaseRunner& runner, const Problem& p, const Situations& asked = {}) const {
    judge(runner, contract_of(runner), p, {}, asked);
  }

  Check every_size(const std::string& sentence) const {
    return {sentence, [this](CaseRunner& runner) {
              for (const int n : rank_counts) judge_one(runner, usual(runner, n));
            }};
  }
  Check any_type() const {
    return {"float32, bfloat16 and float16", [this](CaseRunner& runner) {
              for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
                Problem p = usual(runner, 3);
                p.dtype = dtype;
                judge_one(runner, p);
              }
            }};
  }
  Check odd_values() const {
    return {"NaN and infinity show in what they go into, and nowhere else",
            [this](CaseRunner& runner) {
              for (const Odd odd : every_odd) {
                Problem p = usual(runner, 3);
                p.odd = odd;
                judge_one(runner, p);
                p.odd_in = LayerProblem::Where::gradient;
                judge_one(runner, p);
              }
            }};
  }
  // Further passes are the exam's own.
  Check several_passes(void (*further)(CaseRunner&)) const {
    return {
        "several passes in flight, in any order; backward in two halves; an x that is a constant",
        [this, further](CaseRunner& runner) {
          Problem p = usual(runner, 3);
          p.back = {2, 0, 1};
          judge_one(runner, p);
          p.walk = LayerWalk::in_halves;
          p.back = {1, 0};
          judge_one(runner, p);
          p = usual(runner, 2);
          p.input = LayerInput::constant;
          judge_one(runner, p);
          p.walk = LayerWalk::in_halves;
          judge_one(runner, p);
          further(runner);
        }};
  }
  // Further shapes are the exam's own.
  Check any_shape(void (*further)(CaseRunner&)) const {
    return {"x of one to three dimensions, without rows, without a bias",
            [this, further](CaseRunner& runner) {
              for (const Axes& lead : {Axes{}, {0}, {1}, {2, 3}}) {
                Problem p = usual(runner, 3);
                p.lead = lead;
                Situations asked;
                // x of one dimension came before
                if (lead.size() == 2) asked = {Situation::shapes};
                judge_one(runner, p, asked);
                p.biased = false;
                judge_one(runner, p);
              }
              further(runner);
            }};
  }
  // The problem is drawn for three ranks.
  void in_a_subgroup(CaseRunner& runner, Problem p) const {
    p.members = whole_world(8);
    p.members.ranks = {6, 1, 4};
    play_twice(runner, contract_of(runner), p);
  }
  Check refusals() const {
    return {"shapes that do not fit are refused before anything is sent",
            [this](CaseRunner& runner) {
              for (const Misfit misfit : {Misfit::inputs, Misfit::bias}) {
                Problem p = usual(runner, 3);
                p.walk = LayerWalk::refused;
                p.misfit = misfit;
                judge_one(runner, p);
              }
            }};
  }
  Check lost_peers() const {
    return {"when a peer is lost, a rank throws CommError",
            [this](CaseRunner& runner) {
              judge_lost_peers(runner, contract_of(runner), usual(runner, 3));
            },
            {},
            Asks::cost};
  }
  // A rank holds a quarter of a matrix of 256 MB while it goes forward; of one of 16 MB, it has as
  // much of the gradient in the end. They are small ones, of which each number stands for many.
  //   of_what, share_of  as compare_with_memory
  void memory(CaseRunner& runner, const DenseSizes& small, const std::string& of_what,
              std::int64_t (*share_of)(const Problem&),
              void (*cost)(CaseRunner&, const Played&, const Problem&)) const {
    Problem p = usual(runner, 4);
    p.dtype = DType::float32;
    p.inputs = small.inputs, p.outputs = small.outputs;
    p.lead = {small.rows};
    auto contract = contract_of(runner);
    contract.compare = compare_with_memory<Problem>(of_what, share_of);
    p.fill = 256;
    p.walk = LayerWalk::forward;
    judge(runner, contract, p, cost);
    p.fill = 64;
    p.walk = LayerWalk::whole;
    judge(runner, contract, p, cost);
  }
};

}  // namespace lockstep::grader
