// The case format of load_for_inference, shared by adapter and exam.
#pragma once

#include <map>

#include "engine/checkpoint/load_for_inference.hpp"
#include "grader/play/case_world.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"
#include "grader/play/served_storage.hpp"

namespace lockstep::grader {

struct InferenceCase {
  std::string checkpoint{};                    // its folder
  std::map<std::string, std::string> model{};  // nn::metadata_of
  std::vector<std::int64_t> tokens{};          // of one sample
};
struct InferenceReport {
  Ending ending{};              // expected: a CheckpointError
  std::vector<Bytes> logits{};  // of the same tokens, by two models that were loaded
};
template <typename Archive>
void fields(Archive& archive, InferenceCase& c) {
  archive(c.checkpoint, c.model, c.tokens);
}
template <typename Archive>
void fields(Archive& archive, InferenceReport& report) {
  archive(report.ending, report.logits);
}

// The logits of the tokens, by a model of one process.
inline Bytes logits_of(nn::Module& model, const std::vector<std::int64_t>& tokens, Device& device) {
  const std::vector<double> numbers(tokens.begin(), tokens.end());
  Tape tape(GradMode::inference);
  const Value input =
      tape.constant(from_values(numbers, {1, std::ssize(tokens)}, DType::int64, device));
  return copy_of(model.forward(tape, input).tensor);
}

}  // namespace lockstep::grader
