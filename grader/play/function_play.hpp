// Plays a part that is a function of its arguments alone: a case is a list of questions, its result
// an answer to each.
#pragma once

#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

// part(question) is the answer.
template <typename Question>
Bytes answer_each(sim::PlayerCase& played, const auto& part) {
  ByteWriter out;
  for (const Question& question : read_fields<std::vector<Question>>(played.input)) {
    write_fields(out, part(question));
  }
  return out.take();
}

// The same for a part that refuses some questions with a ContractError: how each call ended, and
// the answer, which is a default one where there is none.
template <typename Question>
Bytes answer_or_refuse_each(sim::PlayerCase& played, const auto& part) {
  ByteWriter out;
  for (const Question& question : read_fields<std::vector<Question>>(played.input)) {
    decltype(part(question)) answer{};
    const Ending ending = ending_of<ContractError>([&] { answer = part(question); });
    write_fields(out, ending, answer);
  }
  return out.take();
}

}  // namespace lockstep::grader
