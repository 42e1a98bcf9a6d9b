// The exam of train_3d: what is summed over which ranks, by what it is multiplied, and who counts
// an element in the norm. Each has one right answer. The judge takes it from what ranks know of a
// gradient: of which data its copies are, and whether they are parts of one sum (rules.hpp).
#include <climits>

#include "grader/exam/function/axis_words.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/parts/16_hybrid_parallel/train_3d/rules.hpp"

namespace lockstep::grader::train_3d {
namespace {

using mesh::Axis;
using mesh::AxisSizes;
using mesh::Coordinates;
using mesh::MicroBatch;
using mesh::usual_order;
using Question = TrainQuestion;

std::string text_of(const Question& q) {
  if (q.form == TrainForm::norm) {
    return text(words_of(q.gradients.front()), "; the rank at ", grader::words_of(q.at));
  }
  return text(counted(std::ssize(q.gradients), "gradient"), " with ", grader::words_of(q.sizes),
              q.after == MicroBatch::last ? ", after the last micro-batch"
                                          : ", while micro-batches follow");
}

Question sums(const AxisSizes& sizes, std::vector<KindBits> gradients,
              MicroBatch after = MicroBatch::last) {
  return {TrainForm::sums, std::move(gradients), sizes, after, {}};
}

constexpr AxisBits tp = bit_of(Axis::tp), cp = bit_of(Axis::cp), ep = bit_of(Axis::ep),
                   dp = bit_of(Axis::dp), pp = bit_of(Axis::pp), data = cp | ep | dp;

// Half of the gradients or less, and shorter axes.
std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  if (q.form == TrainForm::norm) return offered;
  if (const auto half = std::ssize(q.gradients) / 2; half > 0) {
    for (const bool front : {true, false}) {
      const auto middle = q.gradients.begin() + half;
      offered.push_back(q);
      offered.back().gradients.assign(front ? q.gradients.begin() : middle,
                                      front ? middle : q.gradients.end());
    }
  }
  for (const Axis axis : usual_order) {
    for (const int size : {1, 2, q.sizes[axis] - 1}) {
      if (size < 1 || size >= q.sizes[axis]) continue;
      offered.emplace_back(q).sizes[axis] = size;
    }
  }
  return offered;
}

const FunctionContract<Question, TrainAnswer> contract{
    .text_of = text_of,
    .wrong = [](std::span<const Question> asked,
                const TrainAnswer& seen) { return wrong(asked.back(), seen); },
    .refusals = {{.valid =
                      [](const Question& q) {
                        return std::ranges::all_of(q.gradients, [](const KindBits& one) {
                          return (one.partial & ~one.copies) == 0 && (one.partial & data) == 0;
                        });
                      },
                  .accepts = {"accepts_nonsense",
                              "only copies are partial, and only along tp or pp; data shards are "
                              "averaged"},
                  .nonsense = {sums({.tp = 2}, {{dp, tp}}),
                               sums({.tp = 2, .pp = 2}, {{data | tp, 0}, {data | tp, pp}}),
                               sums({.dp = 2}, {{data, dp}}), sums({.cp = 2}, {{data, cp}}),
                               sums({.ep = 2}, {{data, ep}}, MicroBatch::more_follow),
                               sums({.tp = 2}, {{data | tp, tp}, {data, tp}},
                                    MicroBatch::more_follow),
                               sums({}, {{0, pp}})}}},
    .smaller = smaller,
    .sizes = [](const Question& q) -> Sizes {
      std::int64_t ranks = 1;
      for (const Axis axis : usual_order) ranks *= q.sizes[axis];
      return {ranks, {std::ssize(q.gradients), q.sizes.dp}};
    }};

// A matrix that is cut over tp, a norm that is whole, one under sequence parallelism, the table
// that two stages share, and an expert.
std::vector<KindBits> gradients_of_task() {
  return {{data, 0}, {data | tp, 0}, {data | tp, tp}, {data | pp, pp}, {cp | dp, 0}};
}

// Every set of copies with every part that may be partial.
std::vector<KindBits> every_kind() {
  std::vector<KindBits> kinds;
  for (AxisBits copies = 0; copies < 32; ++copies) {
    for (const AxisBits partial : {AxisBits{0}, tp, pp, static_cast<AxisBits>(tp | pp)}) {
      if ((partial & ~copies) == 0) kinds.push_back({copies, partial});
    }
  }
  return kinds;
}

std::vector<Question> drawn_meshes(CaseRunner& runner) {
  std::vector<Question> questions;
  for (int k = 0; k < 12; ++k) {
    AxisSizes sizes;
    for (const Axis axis : usual_order) sizes[axis] = static_cast<int>(runner.draw_between(2, 5));
    questions.push_back(sums(sizes, every_kind()));
  }
  return questions;
}

// Two micro-batches that others follow, and the last one.
std::vector<Question> steps(CaseRunner& runner) {
  std::vector<Question> questions;
  for (const Question& last : drawn_meshes(runner)) {
    questions.push_back(sums(last.sizes, last.gradients, MicroBatch::more_follow));
    questions.push_back(questions.back());
    questions.push_back(last);
  }
  return questions;
}

// Each set of axes that are longer than 1.
std::vector<Question> missing_axes() {
  std::vector<Question> questions;
  for (AxisBits longer = 0; longer < 32; ++longer) {
    AxisSizes sizes;
    for (const Axis axis : usual_order) sizes[axis] = longer & bit_of(axis) ? 3 : 1;
    questions.push_back(sums(sizes, every_kind()));
  }
  questions.push_back(sums({.dp = 2}, {}));
  return questions;
}

// Every kind at every place of a mesh of two ranks an axis, and at places far out.
std::vector<Question> every_place() {
  std::vector<Question> questions;
  for (const KindBits& kind : every_kind()) {
    for (unsigned place = 0; place < 32; ++place) {
      Coordinates at;
      for (const Axis axis : usual_order) at[axis] = place & bit_of(axis) ? 1 : 0;
      questions.push_back({TrainForm::norm, {kind}, {2, 2, 2, 2, 2}, MicroBatch::last, at});
    }
  }
  questions.push_back({TrainForm::norm, {{data | tp, 0}}, {.tp = 600}, {}, {.tp = 512}});
  questions.push_back({TrainForm::norm, {{data, 0}}, {.dp = INT_MAX}, {}, {.dp = INT_MAX - 1}});
  return questions;
}

std::vector<Question> every_size() {
  std::vector<Question> questions;
  for (const int ranks : every_rank_count) {
    questions.push_back(sums({.dp = ranks}, gradients_of_task()));
    questions.push_back(sums({.tp = 2, .cp = ranks, .dp = 3}, gradients_of_task()));
  }
  questions.push_back(sums({.tp = 8, .cp = 4, .dp = 2049, .pp = 16}, gradients_of_task()));
  questions.push_back(sums({.dp = INT_MAX}, gradients_of_task()));
  questions.push_back(sums({.dp = 2, .pp = 2}, gradients_of_task()));
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"the gradients of the task with tp 2, dp 2 and pp 2",
       [](CaseRunner& runner) {
         judge(
             runner, contract, "the gradients of the task",
             {sums({.tp = 2, .dp = 2, .pp = 2}, gradients_of_task()),
              sums({.tp = 4, .pp = 2}, gradients_of_task()),
              sums({.tp = 2, .dp = 4}, gradients_of_task()), sums({.dp = 8}, gradients_of_task())});
       }},
      {"every kind of gradient becomes the mean over all data shards",
       [](CaseRunner& runner) { judge(runner, contract, "drawn meshes", drawn_meshes(runner)); }},
      {"while micro-batches follow, nothing travels; after the last one, gradients do",
       [](CaseRunner& runner) {
         judge(runner, contract, "steps of three micro-batches", steps(runner));
       }},
      {"axes of size 1 are left out, and so is what needs neither a sum nor a factor",
       [](CaseRunner& runner) { judge(runner, contract, "missing axes", missing_axes()); }},
      {"each element counts in the norm once among the ranks of a replica",
       [](CaseRunner& runner) { judge(runner, contract, "every place", every_place()); }},
      {"each number of ranks up to three hundred, and hundreds of thousands",
       [](CaseRunner& runner) { judge(runner, contract, "every size", every_size()); }},
      check_of_refusals(contract, "a gradient that is partial where it cannot be is refused",
                        {sums({.tp = 2, .dp = 2}, gradients_of_task()), sums({}, {{0, 0}})}),
  };
}

}  // namespace lockstep::grader::train_3d
