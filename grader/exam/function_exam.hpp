// The exam of a part that is a function of its arguments alone (play/function_play.hpp): it is
// asked lists of questions, and each answer is judged by itself. An exam says what is right and
// what wrong answers tell; asking, reading and refusals are here.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/units.hpp"
#include "grader/exam/wrong_ending.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {

template <typename Question, typename Answer>
struct FunctionContract {
  // A question, for a person: "97 samples on 4 ranks".
  std::function<std::string(const Question&)> text_of;
  // Finds what is wrong with `seen`, the answer to asked.back(); nothing if it is right. Before it
  // stand the questions that were answered before, and right: an answer may have been kept from one
  // of them. The kit fills in where it happened.
  std::function<std::optional<Failure>(std::span<const Question> asked, const Answer& seen)> wrong;

  // The refusals of a part that refuses what makes no sense.
  struct Refusals {
    std::function<bool(const Question&)> valid;
    // The failure for a valid question that was refused, and for the answer to an invalid one.
    std::function<Failure(const Question&)> refused;
    std::function<Failure(const Question&, const Answer&)> accepted;
  };
  std::optional<Refusals> refusals{};
  // Bytes before the questions, for a part that also has cases of another form.
  Bytes form{};
  // Smaller questions to try when one fails, boldest first (judge).
  std::function<std::vector<Question>(const Question&)> smaller{};
};

// Checks, for one call, that its ending is what the question asks for. Returns true if the answer
// counts.
//   Throws  Failure when it was not
template <typename Question, typename Answer>
bool answers(CaseRunner& runner, const Played& played,
             const FunctionContract<Question, Answer>& contract, const Question& question,
             const Ending& ending, const Answer& seen) {
  const bool valid = contract.refusals->valid(question);
  const std::string asked = contract.text_of(question);
  if (ending.kind == Ending::Kind::threw_other) {
    runner.fail(played, valid ? unexpected_error(ending, asked)
                              : wrong_ending(ending, "ContractError", asked));
  }
  const bool refused = ending.kind == Ending::Kind::threw_expected;
  if (valid != refused) return valid;
  Failure failure =
      refused ? contract.refusals->refused(question) : contract.refusals->accepted(question, seen);
  failure.where = asked;
  runner.fail(played, std::move(failure));
}

// Plays one case: `questions`, one after the other, in one process.
template <typename Question, typename Answer>
void ask(CaseRunner& runner, const FunctionContract<Question, Answer>& contract,
         const std::string& description, const std::vector<Question>& questions) {
  Bytes input = contract.form;
  const Bytes list = fields_to_bytes(questions);
  input.insert(input.end(), list.begin(), list.end());
  const auto played = runner.ask(description, std::move(input));
  if (!played) return;
  ByteReader& result = played->results->of(0);
  std::vector<Question> answered;
  for (const Question& question : questions) {
    const Ending ending = contract.refusals ? read_fields<Ending>(result) : Ending{};
    const auto seen = read_fields<Answer>(result);
    if (contract.refusals && !answers(runner, *played, contract, question, ending, seen)) continue;
    answered.push_back(question);
    std::optional<Failure> failure = contract.wrong(answered, seen);
    if (!failure) continue;
    if (failure->where.empty()) failure->where = contract.text_of(question);
    runner.fail(*played, std::move(*failure));
  }
}

// The same, and a list that fails is made smaller: its halves, then smaller questions. The
// description is that of the whole list.
template <typename Question, typename Answer>
void judge(CaseRunner& runner, const FunctionContract<Question, Answer>& contract,
           const std::string& description, const std::vector<Question>& questions) {
  using List = std::vector<Question>;
  const std::function<std::vector<List>(const List&)> smaller = [&](const List& list) {
    const auto half = list.begin() + std::ssize(list) / 2;
    if (list.size() > 1) return std::vector<List>{{list.begin(), half}, {half, list.end()}};
    std::vector<List> offered;
    for (const Question& one : contract.smaller(list.front())) offered.push_back({one});
    return offered;
  };
  runner.examine<List>(
      questions,
      [&](const List& list) {
        const bool all = list.size() == questions.size();
        ask(runner, contract, all ? description : counted(std::ssize(list), "question"), list);
      },
      smaller);
}

// The right answers to all questions but the last: right_of(question).
template <typename Question, typename Right>
auto earlier_answers(std::span<const Question> asked, const Right& right_of) {
  std::vector<decltype(right_of(asked.front()))> earlier;
  for (const Question& question : asked.first(asked.size() - 1)) {
    earlier.push_back(right_of(question));
  }
  return earlier;
}

}  // namespace lockstep::grader
