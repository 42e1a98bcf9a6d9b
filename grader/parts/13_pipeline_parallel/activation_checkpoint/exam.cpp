// The exam of activation_checkpoint. The judge trains the same model and keeps everything; the part
// must come to the same bits while it keeps the inputs of segments alone. What a player says of its
// memory and of its runs can only lower the verdict.
#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/function_exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/13_pipeline_parallel/activation_checkpoint/case.hpp"

namespace lockstep::grader::activation_checkpoint {
namespace {

using Question = CheckpointQuestion;
using Answer = CheckpointAnswer;
using Walk = CheckpointWalk;

// The property that a check asks for.
enum class Property : std::uint8_t { values, memory, halves, runs, freed };

std::string text_of_question(const Question& q) {
  std::string said = text(q.blocks.size(), q.blocks.size() == 1 ? " segment" : " segments", " of ",
                          listed(q.blocks), " blocks");
  if (q.nesting == CheckpointNesting::nested) said += ", each block a segment, too";
  if (q.passes > 1) said += text(", ", q.passes, " passes");
  if (q.dropout > 0) said += ", dropout";
  if (q.weights == CheckpointWeights::tied) said += ", one weight for all blocks";
  if (q.weights == CheckpointWeights::none) said += ", no parameters";
  if (q.input == CheckpointInput::wanted) said += ", gradient of the input";
  if (q.walk == Walk::in_halves) said += ", backward in two halves";
  if (q.walk == Walk::none) said += ", inference";
  return said;
}

// With everything kept.
Answer right_answer(const Question& q) {
  CpuDevice device;
  CheckpointedModel model(q, device,
                          [](Tape& tape, const Value& x, const CheckpointedModel::Body& body) {
                            return body(tape, x);
                          });
  return model.train();
}

std::string name_of_parameter(std::size_t index) {
  static const char* const names[] = {"first weight", "first bias", "second weight", "second bias"};
  return text("the ", names[index % 4], " of block ", index / 4);
}

bool is_multiple(const std::vector<double>& seen, const std::vector<double>& right, double factor) {
  return std::ranges::equal(seen, right, [&](double a, double b) {
    return std::fabs(a - factor * b) <= 1e-5 * std::fabs(factor * b);
  });
}

Cause cause_of_gradient(const Question& q, const std::vector<double>& seen,
                        const std::vector<double>& right) {
  const bool zero = std::ranges::all_of(seen, [](double value) { return value == 0; });
  if (seen.empty() || zero) {
    return {"no_gradient",
            "the derivative of the recorded operation gives nothing for it: the operation's inputs "
            "are x and every parameter that the segment uses"};
  }
  if (is_multiple(seen, right, 2)) {
    return {"added_twice",
            "the second run's walk adds to the parameters' grads itself, and then "
            "the walk around it does so again"};
  }
  if (q.passes > 1) {
    return {"mixed_up",
            "the second run of one pass works with what another pass left; nothing may "
            "be shared between two calls"};
  }
  return {"other_gradient",
          "the second run is not that of the first: from another input, or with another gradient"};
}

std::optional<Failure> wrong_values(const Question& q, const Answer& seen, const Answer& right) {
  for (std::size_t pass = 0; pass < right.losses.size(); ++pass) {
    if (seen.losses.at(pass) == right.losses[pass]) continue;
    return because({"other_value",
                    "the value is that of the segment itself; it comes from the "
                    "first run"},
                   {.message = text("the loss of pass ", pass, " is ", number(seen.losses[pass]),
                                    " where ", number(right.losses[pass]), " is right"),
                    .expected = number(right.losses[pass]),
                    .seen = number(seen.losses[pass])});
  }
  const auto differs = [&](const Bytes& a, const Bytes& b,
                           const std::string& of) -> std::optional<Failure> {
    if (a == b) return std::nullopt;
    const auto x = as_doubles(DType::float32, a), y = as_doubles(DType::float32, b);
    const auto at = first_difference(x, y, std::vector<double>(y.size(), 0)).value_or(0);
    return because(
        cause_of_gradient(q, x, y),
        {.message = text("the gradient of ", of, " is ", number_at(x, at), " at element ", at,
                         " where ", number_at(y, at), " is right, to the last bit"),
         .expected = number_at(y, at),
         .seen = number_at(x, at)});
  };
  for (std::size_t i = 0; i < right.gradients.size(); ++i) {
    if (auto wrong = differs(seen.gradients.at(i), right.gradients[i], name_of_parameter(i))) {
      return wrong;
    }
  }
  for (std::size_t pass = 0; pass < right.to_inputs.size(); ++pass) {
    auto wrong =
        differs(seen.to_inputs.at(pass), right.to_inputs[pass], text("the input of pass ", pass));
    if (wrong) return wrong;
  }
  for (std::size_t i = 0; i < right.fired.size(); ++i) {
    if (seen.fired.at(i) == right.fired[i]) continue;
    return because({"hooks_fired",
                    "the second run's walk must not touch parameters; their hooks fire in the walk "
                    "around it, once a pass"},
                   {.message = text("the hook of ", name_of_parameter(i), " fires ",
                                    counted(seen.fired[i], "time"), " where ", right.fired[i],
                                    right.fired[i] == 1 ? " is right" : " are right"),
                    .expected = text(right.fired[i]),
                    .seen = text(seen.fired[i])});
  }
  return std::nullopt;
}

// x of each segment, and some tensors of that size around them.
std::int64_t kept_at_most(const Question& q) {
  return q.passes * ((std::ssize(q.blocks) + 4) * q.bytes_of_x() + 64);
}

std::optional<Failure> too_much_kept(const Question& q, const Answer& seen, const Answer& right) {
  const std::int64_t most = kept_at_most(q);
  if (seen.kept_bytes <= most) return std::nullopt;
  Failure failure{
      .message = text("the gradients are right, but after the forward passes ",
                      grouped(seen.kept_bytes), " bytes are kept where ", grouped(most),
                      " are enough; without recomputation, they are ", grouped(right.kept_bytes)),
      .expected = text("at most ", grouped(most), " bytes"),
      .seen = text(grouped(seen.kept_bytes), " bytes")};
  failure.verdict = Verdict::efficiency;
  return because({"kept_too_much",
                  "something that the segment computed on the way outlives the call: the first run "
                  "must record nothing, and only x is kept"},
                 failure);
}

// Once forward, once more for each segment around it.
int right_runs(const Question& q) {
  if (q.walk == Walk::none) return q.passes;
  return q.passes * (q.nesting == CheckpointNesting::nested ? 3 : 2);
}

std::optional<Failure> other_runs(const Question& q, const Answer& seen) {
  const int right = right_runs(q);
  for (std::size_t block = 0; block < seen.runs.size(); ++block) {
    if (seen.runs[block] == right) continue;
    Failure failure{.message = text("the gradients are right, but block ", block, " runs ",
                                    counted(seen.runs[block], "time"), " where ", right,
                                    right == 1 ? " is needed" : " are needed"),
                    .expected = text(right),
                    .seen = text(seen.runs[block])};
    failure.verdict = Verdict::efficiency;
    return because({"other_runs",
                    "a segment runs once forward and once when backward comes to it; both halves "
                    "of the derivative share that second run"},
                   failure);
  }
  return std::nullopt;
}

// The first run only makes a value. So one run of each block records, in each pass.
std::optional<Failure> recorded_runs(const Question& q, const Answer& seen) {
  const int right = q.walk == Walk::none ? 0 : q.passes;
  for (std::size_t block = 0; block < seen.recorded.size(); ++block) {
    if (seen.recorded[block] <= right) continue;
    Failure failure{
        .message = text("the gradients are right, but block ", block, " runs ",
                        counted(seen.recorded[block], "time"), " on a tape that records, where ",
                        right, right == 1 ? " is enough" : " are enough"),
        .expected = text(right),
        .seen = text(seen.recorded[block])};
    failure.verdict = Verdict::efficiency;
    return because({"first_run_recorded",
                    "the first run is there for its value; a tape for inference lets go of each "
                    "activation as soon as the next one is made"},
                   failure);
  }
  return std::nullopt;
}

// A segment must put off what the model's own operations put off.
std::optional<Failure> not_in_halves(const Question& q, const Answer& seen, const Answer& right) {
  for (std::size_t i = 0; i < right.early.size(); ++i) {
    if (seen.early.at(i) <= right.early[i]) continue;
    Failure failure{.message = text("the gradients are right, but that of ", name_of_parameter(i),
                                    " is made in the first half of the walk, while the stage "
                                    "before waits"),
                    .expected = "in the second half",
                    .seen = "in the first half"};
    failure.verdict = Verdict::efficiency;
    return because({"weights_early",
                    "the first lambda gives what begin() returns, and leaves the rest to the "
                    "second one"},
                   failure);
  }
  // A copy of the model's input, and some tensors of that size around the segments.
  const std::int64_t most = right.between_bytes + 3 * q.bytes_of_x();
  if (seen.between_bytes <= most) return std::nullopt;
  Failure failure{.message = text("the gradients are right, but between the two halves ",
                                  grouped(seen.between_bytes), " bytes are kept where ",
                                  grouped(most), " are enough"),
                  .expected = text("at most ", grouped(most), " bytes"),
                  .seen = text(grouped(seen.between_bytes), " bytes")};
  failure.verdict = Verdict::efficiency;
  return because({"kept_between", "only what the weights' gradients need outlives the first half"},
                 failure);
}

std::optional<Failure> left_over(const Question& q, const Answer& seen) {
  const std::int64_t most = q.passes * (4 * q.bytes_of_x() + 64);
  if (seen.left_bytes <= most) return std::nullopt;
  Failure failure{
      .message = text("the gradients are right, but after the backward passes ",
                      grouped(seen.left_bytes), " bytes are still there, more than the ",
                      grouped(most), " of what the model around them holds"),
      .expected = text("at most ", grouped(most), " bytes"),
      .seen = text(grouped(seen.left_bytes), " bytes")};
  failure.verdict = Verdict::efficiency;
  return because({"graph_kept",
                  "the second run's tape, or the input, outlives the walk; something still refers "
                  "to it"},
                 failure);
}

FunctionContract<Question, Answer> contract_of(Property asked_for) {
  return {.text_of = text_of_question,
          .wrong = [asked_for](std::span<const Question> asked,
                               const Answer& seen) -> std::optional<Failure> {
            const Question& q = asked.back();
            const Answer right = right_answer(q);
            if (seen.losses.size() != right.losses.size() ||
                seen.gradients.size() != right.gradients.size() ||
                seen.to_inputs.size() != right.to_inputs.size() ||
                seen.fired.size() != right.fired.size() || seen.runs.size() != right.runs.size() ||
                seen.recorded.size() != right.runs.size() ||
                seen.early.size() != right.early.size()) {
              throw MalformedMessage("malformed message: not the answers of this model");
            }
            if (auto wrong = wrong_values(q, seen, right)) return wrong;
            switch (asked_for) {
              case Property::values:
                return std::nullopt;
              case Property::memory:
                if (auto failure = too_much_kept(q, seen, right)) return failure;
                return recorded_runs(q, seen);
              case Property::halves:
                return not_in_halves(q, seen, right);
              case Property::runs:
                return other_runs(q, seen);
              case Property::freed:
                return left_over(q, seen);
            }
            return std::nullopt;
          },
          // Every question has a model of its own.
          .is_right = [](const Question&, const Answer&) { return false; },
          .smaller =
              [](const Question& q) {
                std::vector<Question> offered;
                if (q.blocks.size() > 1) offered.emplace_back(q).blocks.pop_back();
                if (q.passes > 1) --offered.emplace_back(q).passes;
                return offered;
              },
          .sizes = [](const Question& q) -> Sizes {
            return {0, {q.block_count()}};
          },
          .least_count = 1};
}

Question question_of(CaseRunner& runner, std::vector<int> blocks) {
  Question q{.blocks = std::move(blocks)};
  q.batch = static_cast<int>(runner.draw_between(1, 5));
  q.seed = runner.draw();
  return q;
}

// The same for each shape of the model.
std::vector<Question> questions(CaseRunner& runner, const std::vector<std::vector<int>>& shapes,
                                const std::function<void(Question&)>& change = {}) {
  std::vector<Question> all;
  for (const auto& shape : shapes) {
    all.push_back(question_of(runner, shape));
    if (change) change(all.back());
  }
  return all;
}

Check check(const std::string& name, Property asked_for,
            const std::vector<std::vector<int>>& shapes,
            const std::function<void(Question&)>& change = {}) {
  return {name, [=](CaseRunner& runner) {
            judge(runner, contract_of(asked_for), name, questions(runner, shapes, change));
          }};
}

}  // namespace

Exam exam() {
  const auto costs = [](Question& q) { q.batch = 5; };
  const auto halves = [](Question& q) {
    q.walk = Walk::in_halves;
    q.dropout = 0.2;
    q.input = CheckpointInput::wanted;
  };
  return {
      check("one segment: value and gradients are those of the segment itself", Property::values,
            {{1}, {3}}),
      check("a chain of segments with dropout: the same bits", Property::values,
            {{1, 1}, {2, 1, 3}, {1, 1, 1, 1, 1}}, [](Question& q) { q.dropout = 0.3; }),
      check("one weight for all segments, and the gradient of the input: hooks fire once",
            Property::values, {{1, 1, 1}, {1}},
            [](Question& q) {
              q.weights = CheckpointWeights::tied;
              q.input = CheckpointInput::wanted;
            }),
      check("several passes are forward before the first one goes back", Property::values,
            {{1, 2}, {2, 1}},
            [](Question& q) {
              q.passes = 3;
              q.dropout = 0.2;
            }),
      check("segments inside segments", Property::values, {{2, 2}, {1}, {3, 1}},
            [](Question& q) {
              q.nesting = CheckpointNesting::nested;
              q.dropout = 0.3;
            }),
      check("backward in two halves: the same gradients", Property::values, {{1}, {2, 1, 2}},
            halves),
      check("on a tape for inference, a segment simply runs", Property::runs, {{1}, {2, 1}},
            [](Question& q) { q.walk = Walk::none; }),
      {"after the forward passes, the inputs of segments are all that is kept",
       [](CaseRunner& runner) {
         std::vector<Question> all = questions(runner, {{3, 3, 3}, {2, 2, 2, 2, 2}, {3, 3}});
         for (Question& q : all) {
           q.batch = 5;
           q.passes = 2;
         }
         all.back().weights = CheckpointWeights::none;
         all.back().input = CheckpointInput::wanted;
         judge(runner, contract_of(Property::memory), "memory", all);
       }},
      {"a segment runs twice, and one inside another three times, however backward is walked",
       [](CaseRunner& runner) {
         std::vector<Question> all = questions(runner, {{2, 1}, {1, 1, 1}});
         for (Question& q : questions(runner, {{2, 1}, {1, 2}})) {
           q.walk = Walk::in_halves;
           all.push_back(q);
           q.nesting = CheckpointNesting::nested;
           all.push_back(q);
         }
         judge(runner, contract_of(Property::runs), "runs", all);
       }},
      check("after the backward passes, nothing is left of the second runs", Property::freed,
            {{3, 3, 3}, {2, 2}}, costs),
      check(
          "of two halves, the second one makes the weights' gradients, and keeps no more for them",
          Property::halves, {{1}, {2, 1, 2}}, halves),
  };
}

}  // namespace lockstep::grader::activation_checkpoint
