// The rules for values, and for what a training may keep and run on the way.
#include "grader/parts/11_sharding/activation_checkpoint/rules.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/function/odd_values.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::activation_checkpoint {

using Question = CheckpointQuestion;
using Answer = CheckpointAnswer;
using Walk = CheckpointWalk;

std::string text_of_question(const Question& q) {
  std::string said = text(q.blocks.size(), q.blocks.size() == 1 ? " segment" : " segments", " of ",
                          listed(q.blocks), " blocks");
  if (q.nesting == CheckpointNesting::nested) said += ", each block a segment, too";
  if (q.passes > 1) said += text(", ", q.passes, " passes");
  if (q.dropout > 0) said += ", dropout";
  if (q.weights == CheckpointWeights::tied) said += ", one weight for all blocks";
  if (q.weights == CheckpointWeights::none) said += ", no parameters";
  if (q.input == CheckpointInput::wanted) said += ", gradient of the input";
  if (q.holds == CheckpointHolds::not_a_number) said += ", a NaN in the input";
  if (q.holds == CheckpointHolds::infinity) said += ", an infinity in the input";
  if (q.walk == Walk::in_halves) said += ", backward in two halves";
  if (q.walk == Walk::none) said += ", inference";
  return said;
}

namespace {

// With everything kept.
Answer right_answer(const Question& q) {
  CpuDevice device;
  CheckpointedModel model(
      q, device,
      [](Tape& tape, const Value& x, const CheckpointedModel::Body& body) { return body(tape, x); },
      [&](const SegmentCall& call) { return answer_to(q, call); });
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
            "all of it is twice the right one: the second run's walk adds to the parameters' grads "
            "itself, and then the walk around it does so again, or what arrives was doubled"};
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
    const std::span<const double> came(&seen.losses.at(pass), 1), wanted(&right.losses[pass], 1);
    if (!first_other_bits(came, wanted)) continue;
    const Cause other{"other_value",
                      "the value is that of the segment itself; it comes from the first run"};
    return because(cause_by_finiteness(came, wanted, 0).value_or(other),
                   {.message = text("the loss of pass ", pass, " is ", number(seen.losses[pass]),
                                    " where ", number(right.losses[pass]), " is right"),
                    .expected = number(right.losses[pass]),
                    .seen = number(seen.losses[pass])});
  }
  const auto differs = [&](const Bytes& a, const Bytes& b,
                           const std::string& of) -> std::optional<Failure> {
    if (a == b) return std::nullopt;
    const auto x = as_doubles(DType::float32, a), y = as_doubles(DType::float32, b);
    // A value that is no number may have any bits.
    const auto first = first_other_bits(x, y);
    if (!first) return std::nullopt;
    const std::size_t at = *first;
    return because(
        cause_by_finiteness(x, y, at).value_or(cause_of_gradient(q, x, y)),
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

// Memory that is none of the tensors that are asked about: the program and its stacks, what the
// line to the judge has in hand. A right part is at a third of it.
constexpr std::int64_t others_bytes = std::int64_t{2} << 20;

// The model, with what every step of it works with: parameters and their gradients, inputs, their
// gradients and copies of these, and the tensors of one operation or two.
std::int64_t bytes_of_model(const Question& q) {
  const std::int64_t w = q.width, h = q.hidden;
  const std::int64_t parameters = 4 * q.block_count() * (2 * h * w + h + w);
  return 2 * parameters + (3 * q.passes + 12) * q.bytes_of_x();
}

// `seen` bytes of memory are held `when`, where `most` are enough.
Failure too_many_bytes(const std::string& when, std::int64_t seen, std::int64_t most,
                       const std::string& besides = "") {
  Failure failure{.message = text("the gradients are right, but ", when, " ", grouped(seen),
                                  " bytes are kept where ", grouped(most), " are enough", besides),
                  .expected = text("at most ", grouped(most), " bytes"),
                  .seen = text(grouped(seen), " bytes")};
  failure.verdict = Verdict::efficiency;
  return failure;
}

// The same of what the judge measured, beside the model and the program. `tensors` are enough.
std::optional<Failure> too_much_memory(const Question& q, const Cause& cause,
                                       const std::string& when, std::optional<std::int64_t> seen,
                                       std::int64_t tensors) {
  const std::int64_t most = tensors + bytes_of_model(q) + others_bytes;
  if (seen.value_or(0) <= most) return std::nullopt;
  return because(cause, too_many_bytes(when + " the process holds more than its tensors can be:",
                                       *seen, most, ", the program among them"));
}

std::optional<Failure> too_much_kept(const Question& q, const Answer& seen, const Answer& right,
                                     const SegmentsSeen& segments) {
  const Cause cause{"kept_too_much",
                    "something that the segment computed on the way outlives the call: the first "
                    "run must record nothing, and only x is kept"};
  const std::int64_t most = kept_at_most(q);
  if (seen.kept_bytes > most) {
    return because(cause, too_many_bytes("after the forward passes", seen.kept_bytes, most,
                                         text("; without recomputation, they are ",
                                              grouped(right.kept_bytes))));
  }
  return too_much_memory(q, cause, "before the first gradient", segments.forward_bytes, most);
}

// Once forward, once more for each segment around it.
int right_runs(const Question& q) {
  if (q.walk == Walk::none) return q.passes;
  return q.passes * (q.nesting == CheckpointNesting::nested ? 3 : 2);
}

std::optional<Failure> other_runs(const Question& q, const SegmentsSeen& seen) {
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
std::optional<Failure> recorded_runs(const Question& q, const SegmentsSeen& seen) {
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
std::optional<Failure> not_in_halves(const Question& q, const Answer& seen, const Answer& right,
                                     const SegmentsSeen& segments) {
  for (std::size_t block = 0; block < segments.early.size(); ++block) {
    if (segments.early[block] == 0) continue;
    Failure failure{
        .message = text("the gradients are right, but that of ", name_of_parameter(4 * block + 3),
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
  const Cause cause{"kept_between",
                    "only what the weights' gradients need outlives the first half"};
  // A copy of the model's input, and some tensors of that size around the segments.
  const std::int64_t most = right.between_bytes + 3 * q.bytes_of_x();
  if (seen.between_bytes > most) {
    return because(cause, too_many_bytes("between the two halves", seen.between_bytes, most));
  }
  return too_much_memory(q, cause, "between the two halves", segments.between_bytes, most);
}

std::optional<Failure> left_over(const Question& q, const Answer& seen,
                                 const SegmentsSeen& segments) {
  const Cause cause{"graph_kept",
                    "the second run's tape, or the input, outlives the walk; something still "
                    "refers to it"};
  const std::int64_t most = q.passes * (4 * q.bytes_of_x() + 64);
  if (seen.left_bytes > most) {
    return because(cause, too_many_bytes("after the backward passes", seen.left_bytes, most));
  }
  return too_much_memory(q, cause, "after the backward passes", segments.left_bytes, most);
}

}  // namespace

std::optional<Failure> wrong(Property asked_for, const Question& q, const Answer& seen,
                             const SegmentsSeen& segments) {
  const Answer right = right_answer(q);
  if (seen.losses.size() != right.losses.size() ||
      seen.gradients.size() != right.gradients.size() ||
      seen.to_inputs.size() != right.to_inputs.size() || seen.fired.size() != right.fired.size()) {
    throw MalformedMessage("malformed message: not the answers of this model");
  }
  // At least the input of the model's last operation is kept for backward.
  const std::int64_t least = q.walk == Walk::none ? 0 : q.passes * q.bytes_of_x();
  if (seen.kept_bytes < least || seen.between_bytes < 0 || seen.left_bytes < 0) {
    throw MalformedMessage("malformed message: less memory than what must be alive");
  }
  if (auto failure = wrong_values(q, seen, right)) return failure;
  switch (asked_for) {
    case Property::values:
      return std::nullopt;
    case Property::memory:
      if (auto failure = too_much_kept(q, seen, right, segments)) return failure;
      return recorded_runs(q, segments);
    case Property::halves:
      return not_in_halves(q, seen, right, segments);
    case Property::runs:
      return other_runs(q, segments);
    case Property::freed:
      return left_over(q, seen, segments);
  }
  return std::nullopt;
}

}  // namespace lockstep::grader::activation_checkpoint
