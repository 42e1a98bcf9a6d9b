#include "grader/exam/function/wrong_ending.hpp"

#include "engine/base/error.hpp"
#include "grader/judge/engine_errors.hpp"

namespace lockstep::grader {

std::string thrown_text(const Ending& ending) {
  return ending.what.empty() ? ending.type : text(ending.type, " (\"", ending.what, "\")");
}

Failure wrong_ending(const Ending& ending, std::string_view wanted, const std::string& asked) {
  LOCKSTEP_CHECK(ending.kind != Ending::Kind::threw_expected, "that is the error that was wanted");
  Failure failure;
  failure.expected = text("an error of type ", wanted);
  if (ending.kind == Ending::Kind::returned) {
    failure.cause = "not_refused";
    failure.seen = "a normal return";
    failure.message =
        text("the part returned normally for ", asked, " where ", wanted,
             " was expected; likely cause: the part does not check a value, or checks it too late");
    return failure;
  }
  failure.cause = "wrong_error";
  failure.seen = thrown_text(ending);
  failure.thrown_at = ending.thrown_at;
  failure.message = text("the part threw ", failure.seen, " for ", asked, " where ", wanted,
                         " was expected; callers distinguish errors by type, so throw ", wanted,
                         wanted == "ContractError" ? ", as LOCKSTEP_CHECK does" : "");
  return failure;
}

Failure unexpected_error(const Ending& ending, const std::string& asked) {
  LOCKSTEP_CHECK(ending.kind == Ending::Kind::threw_other, "that call did not break down");
  Failure failure;
  failure.verdict = Verdict::crash;
  failure.cause = "crash";
  failure.where = asked;
  failure.seen = thrown_text(ending);
  failure.message = text("the part threw ", failure.seen, " for ", asked, ", which is valid");
  failure.thrown_at = ending.thrown_at;
  return with_cause_of_error(std::move(failure));
}

void tell_wrong_size(Failure& found) {
  const auto says = [&](const char* what) { return found.message.find(what) != std::string::npos; };
  if (found.verdict != Verdict::crash) return;
  if (!says(" threw: narrow: start ") && !says(wrong_size_left)) return;
  found.verdict = Verdict::wrong_answer;
  if (found.cause == "crash") found.cause = "wrong_size";
}

}  // namespace lockstep::grader
