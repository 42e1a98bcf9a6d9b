#include "grader/exam/wrong_ending.hpp"

#include "engine/base/error.hpp"

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
        text("asked for ", asked, ", the part returned where it throws ", wanted,
             "; likely cause: that value is not checked, or the check comes too late");
    return failure;
  }
  failure.cause = "wrong_error";
  failure.seen = thrown_text(ending);
  failure.message = text("asked for ", asked, ", the part threw ", failure.seen, " where ", wanted,
                         " was expected: callers tell errors apart by their type; throw ", wanted,
                         wanted == "ContractError" ? ", which LOCKSTEP_CHECK does" : "");
  return failure;
}

}  // namespace lockstep::grader
