// The problem of a linear layer that is cut among ranks, and what all such exams ask of it. Which
// axis is cut, and what mistakes make, is the exam's own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grader/exam/layer/exam.hpp"

namespace lockstep::grader {

// Which shape of a case does not fit the others.
// bias_of_one: it has one element, which an addition could repeat.
enum class Misfit : std::uint8_t { none, inputs, bias, bias_of_one };

struct LinearProblem : LayerProblem {
  Axes lead{4};  // of x and y, without their last axis
  std::int64_t inputs = 5, outputs = 6;
  bool biased = true;
  Misfit misfit = Misfit::none;

  DenseSizes sizes() const;
  Axes with_last(std::int64_t last) const;  // [..., last]
  std::int64_t bytes_of_output() const;
  std::int64_t bytes_of_input() const;
  std::string linear_words() const;  // "4 rows, 5 → 6, bias, …"
};

// Forward, a rank holds its activations, and after backward the gradients of its `share` bytes of
// parameters, `of_what`; nothing else of their size.
void check_linear_memory(CaseRunner& runner, const Played& played, const LinearProblem& p,
                         const LayerService& seen, std::int64_t share, const std::string& of_what);

// Problems that are smaller in `cut` or in passes, and without a bias.
template <typename Cut>
auto smaller_linear(Cut cut) {
  return smaller_layer_by(cut, [](const auto& p, auto& offered) {
    if (p.biased) offered.emplace_back(p).biased = false;
  });
}

// The checks of every exam of a linear layer, and parts of an exam's own.
template <typename Problem>
struct LinearChecks : RanksChecks<Problem, LayerCase, LayerReport, LayerService> {
  using Base = RanksChecks<Problem, LayerCase, LayerReport, LayerService>;
  using Base::ask;
  using Base::Base;

  Check any_values() const {
    return {"NaN and infinity show in what they go into, and nowhere else", Base::odd_values()};
  }
  // Further passes are the exam's own.
  Check several_passes(const Question& further) const {
    return {
        "several passes in flight, in any order; backward in two halves; an x, a bias and weights "
        "that are constants",
        [further, self = *this](CaseRunner& runner) {
          Problem p = self.usual(runner, 3);
          p.back = {2, 0, 1};
          self.ask(runner, p);
          p.walk = LayerWalk::in_halves;
          p.back = {1, 0};
          self.ask(runner, p);
          p = self.usual(runner, 2);
          p.input = LayerInput::constant;
          self.ask(runner, p);
          p.walk = LayerWalk::in_halves;
          self.ask(runner, p);
          p.walk = LayerWalk::inference;
          p.biased = false;
          self.ask(runner, p);
          constants_of(self)(runner);
          further(runner);
        }};
  }
  // Further shapes are the exam's own.
  Check any_shape(const Question& further) const {
    return {"x of one to three dimensions, without rows, without a bias",
            [further, self = *this](CaseRunner& runner) {
              for (const Axes& lead : {Axes{}, {0}, {1}, {2, 3}}) {
                Problem p = self.usual(runner, 3);
                p.lead = lead;
                Situations asked;
                // x of one dimension came before
                if (lead.size() == 2) asked = {Situation::shapes};
                self.ask(runner, p, {}, asked);
                p.biased = false;
                self.ask(runner, p);
              }
              further(runner);
            }};
  }
  Check refusals() const {
    return {"shapes that do not fit are refused before anything is sent",
            [self = *this](CaseRunner& runner) {
              for (const Misfit misfit : {Misfit::inputs, Misfit::bias, Misfit::bias_of_one}) {
                self.ask(runner, 3, [&](Problem& p) {
                  p.walk = LayerWalk::refused;
                  p.misfit = misfit;
                });
              }
            }};
  }
  // A rank holds a quarter of a matrix of 10 MB while it goes forward, and as much of its gradient
  // in the end.
  //   of_what   of the parameters, whose bytes on a rank are share_of
  Question memory(const DenseSizes& sizes, const std::string& of_what,
                  std::int64_t (*share_of)(const Problem&), typename Base::Cost cost) const {
    const auto held = Base::then(
        [=](CaseRunner& runner, const Played& played, const Problem& p, const LayerService& seen) {
          check_linear_memory(runner, played, p, seen, share_of(p), of_what);
        });
    return [=](CaseRunner& runner) {
      Problem p = held.usual(runner, 4);
      p.inputs = sizes.inputs, p.outputs = sizes.outputs;
      p.lead = {sizes.rows};
      for (const LayerWalk walk : {LayerWalk::forward, LayerWalk::whole}) {
        p.walk = walk;
        held.ask(runner, p, cost);
      }
    };
  }
};

}  // namespace lockstep::grader
