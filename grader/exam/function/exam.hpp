// The exam of a part that is a function of its arguments alone (play/function_play.hpp): it is
// asked lists of questions, and each answer is judged by itself. An exam says what is right and
// what wrong answers tell; asking, reading and refusals are here. So is what is asked of every such
// part: each list is followed by some of its questions once more, in turns, since an answer may
// depend on nothing but its question.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/units.hpp"
#include "grader/exam/function/situations.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader {

template <typename Question, typename Answer>
struct FunctionContract {
  // A question, for a person: "97 samples on 4 ranks".
  std::function<std::string(const Question&)> text_of;
  // Finds what is wrong with `seen`, the answer to asked.back(); nothing if it is right. Before it
  // stand the questions that were answered before, and right. The kit fills in where it happened,
  // and tells an answer that is wrong only because of the questions before.
  std::function<std::optional<Failure>(std::span<const Question> asked, const Answer& seen)>
      wrong{};

  // True if an answer is right, where `wrong` takes long to say why it is not.
  std::function<bool(const Question&, const Answer&)> is_right{};

  // The refusals of a part that refuses what makes no sense.
  struct Refusals {
    std::function<bool(const Question&)> valid;
    // The causes that are told of a part that answers an invalid question, and of one that refuses
    // a valid one.
    Cause accepts;
    Cause refuses{"refuses_valid", "the contract lists what is refused, and nothing else"};
    // Questions to be refused (check_of_refusals).
    std::vector<Question> nonsense{};
    // True if a valid question is to end in an error of another type, which the exam's `wrong` asks
    // for: then a ContractError is told as the wrong type, and this is the right one.
    std::function<bool(const Question&)> throws_other{};
    std::string other_type{};
  };
  std::optional<Refusals> refusals{};
  // Why a part that refuses nonsense threw something else for a valid question, where it tells.
  std::function<std::optional<Cause>(const Question&, const Ending&)> cause_of_error{};
  // Bytes before the questions, for a part that also has cases of another form.
  Bytes form{};
  // Smaller questions to try when one fails, boldest first (judge).
  std::function<std::vector<Question>(const Question&)> smaller{};
  // The sizes of a question, and the smallest count that is valid; what else it asks of the battery
  // that its numbers do not show.
  std::function<Sizes(const Question&)> sizes{};
  std::int64_t least_count = 0;
  // True if a valid question makes the part end in an exception that comes from what it calls.
  std::function<bool(const Question&)> throws{};
  std::function<std::vector<Situation>(const Question&)> situations{};
  // Draws the answer to the first question of a list, for an answer that can be looked at.
  std::function<void(const Question&, const Answer&, trace::Timeline&)> picture{};

  bool valid(const Question& question) const { return !refusals || refusals->valid(question); }
};

// Checks, for one call, that its ending is what the question asks for. Returns true if the answer
// counts.
//   Throws  Failure when it was not
template <typename Question, typename Answer>
bool answers(CaseRunner& runner, const Played& played,
             const FunctionContract<Question, Answer>& contract, const Question& question,
             const Ending& ending) {
  const bool valid = contract.valid(question);
  const std::string asked = contract.text_of(question);
  if (ending.kind == Ending::Kind::threw_other) {
    if (!valid) runner.fail(played, wrong_ending(ending, "ContractError", asked));
    const auto cause =
        contract.cause_of_error ? contract.cause_of_error(question, ending) : std::nullopt;
    Failure failure = unexpected_error(ending, asked);
    runner.fail(played, cause ? because_instead(*cause, std::move(failure)) : failure);
  }
  const bool refused = ending.kind == Ending::Kind::threw_expected;
  if (valid != refused) return valid;
  const auto& rules = *contract.refusals;
  if (refused && rules.throws_other && rules.throws_other(question)) {
    Ending other = ending;
    other.kind = Ending::Kind::threw_other;
    runner.fail(played, wrong_ending(other, rules.other_type, asked));
  }
  runner.fail(played,
              refused ? because(rules.refuses, {.message = text(asked, " was refused, with \"",
                                                                ending.what, "\", but is valid"),
                                                .where = asked})
                      : because(rules.accepts, {.message = text(asked,
                                                                " was accepted, but a "
                                                                "ContractError was expected"),
                                                .where = asked}));
}

// The questions, then the first valid one twice, the last one, and the first again.
template <typename Question, typename Answer>
std::vector<Question> with_repeats(const FunctionContract<Question, Answer>& contract,
                                   std::vector<Question> questions) {
  std::vector<Question> valid;
  std::ranges::copy_if(questions, std::back_inserter(valid),
                       [&](const Question& question) { return contract.valid(question); });
  if (valid.empty()) return questions;
  for (const Question& again : {valid.front(), valid.front(), valid.back()}) {
    questions.push_back(again);
  }
  questions.push_back(valid.front());
  return questions;
}

template <typename Question, typename Answer>
std::vector<Situation> situations_of(const FunctionContract<Question, Answer>& contract,
                                     const std::vector<Question>& questions) {
  SituationSet found;
  SpecialNumbers special(found);
  std::vector<Sizes> sizes;
  std::vector<Bytes> as_bytes;
  std::vector<std::uint8_t> refused;
  for (const Question& question : questions) {
    special(question);
    as_bytes.push_back(fields_to_bytes(question));
    const bool valid = contract.valid(question);
    refused.push_back(!valid || (contract.throws && contract.throws(question)) ? 1 : 0);
    if (contract.sizes && valid) sizes.push_back(contract.sizes(question));
    if (!contract.situations) continue;
    for (const Situation one : contract.situations(question)) found.insert(one);
  }
  note_sizes(sizes, contract.least_count, found);
  note_order(as_bytes, refused, found);
  return {found.begin(), found.end()};
}

// Names what a part keeps between calls: a question that it answered rightly before, or one to
// which it has the right answer in a new process, as `passes_alone` finds out.
template <typename Question, typename Answer>
Failure blaming_what_is_kept(const FunctionContract<Question, Answer>& contract,
                             std::span<const Question> asked, const Answer& seen, Failure failure,
                             const std::function<bool()>& passes_alone) {
  const Bytes last = fields_to_bytes(asked.back());
  for (std::size_t before = 1; before < asked.size(); ++before) {
    if (fields_to_bytes(asked[asked.size() - 1 - before]) == last) {
      return because_instead(answered_before(), std::move(failure));
    }
  }
  if (!passes_alone()) {
    if (failure.cause != "stale") return failure;
    return contract.wrong(asked.last(1), seen).value_or(std::move(failure));
  }
  if (failure.cause == "stale") return failure;
  // A short answer may be right for several questions by chance.
  const bool tells = fields_to_bytes(seen) != fields_to_bytes(Answer{});
  const std::size_t furthest = fields_to_bytes(seen).size() > sizeof(std::int64_t) * 3 ? 4 : 1;
  for (std::size_t before = 1; tells && before < asked.size() && before <= furthest; ++before) {
    const auto earlier = asked.first(asked.size() - before);
    const bool right = contract.is_right ? contract.is_right(earlier.back(), seen)
                                         : !contract.wrong(earlier, seen);
    if (right) return because_instead(kept_from(before), std::move(failure));
  }
  return because_instead(right_alone(), std::move(failure));
}

// Plays one case: just these questions, one after the other, in one process.
template <typename Question, typename Answer>
void ask_just(CaseRunner& runner, const FunctionContract<Question, Answer>& contract,
              const std::string& description, const std::vector<Question>& all) {
  const CaseRunner::Place start = runner.place();
  Bytes input = contract.form;
  const Bytes list = fields_to_bytes(all);
  input.insert(input.end(), list.begin(), list.end());
  const auto played = runner.ask(description, std::move(input), situations_of(contract, all));
  if (!played) return;
  ByteReader& result = played->results->of(0);
  std::vector<Question> answered;
  for (const Question& question : all) {
    const Ending ending = contract.refusals ? read_fields<Ending>(result) : Ending{};
    const auto seen = read_fields<Answer>(result);
    if (contract.refusals && !answers(runner, *played, contract, question, ending)) continue;
    answered.push_back(question);
    if (answered.size() == 1 && contract.picture) {
      runner.redraw([&](trace::Timeline& run) { contract.picture(question, seen, run); });
    }
    std::optional<Failure> failure = contract.wrong(answered, seen);
    if (!failure) continue;
    const auto passes_alone = [&] {
      return runner.passes_alone(
          start, [&] { ask_just(runner, contract, "1 question", std::vector{question}); });
    };
    Failure told = blaming_what_is_kept<Question, Answer>(contract, answered, seen,
                                                          std::move(*failure), passes_alone);
    if (told.where.empty()) told.where = contract.text_of(question);
    runner.fail(*played, std::move(told));
  }
}

// The same, and then some of the questions once more.
template <typename Question, typename Answer>
void ask(CaseRunner& runner, const FunctionContract<Question, Answer>& contract,
         const std::string& description, const std::vector<Question>& questions) {
  ask_just(runner, contract, description, with_repeats(contract, questions));
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

// The check that what the contract lists is refused, and that valid questions before and behind it
// are answered.
template <typename Question, typename Answer>
Check check_of_refusals(const FunctionContract<Question, Answer>& contract, std::string name,
                        std::vector<Question> valid) {
  return {std::move(name), [contract, valid = std::move(valid)](CaseRunner& runner) {
            std::vector<Question> questions = valid;
            const auto& nonsense = contract.refusals->nonsense;
            questions.insert(questions.end(), nonsense.begin(), nonsense.end());
            ask(runner, contract, "what makes no sense", questions);
          }};
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
