// What is said of a crash of a part that reduces gradients in fewer bytes.
#include "grader/exam/lossy/rules.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

// Rank 0 has returned from its first call, and breaks down before its wait() is over.
Failure broken_in_the_wait(const std::string& message, const std::string& cause = "crash") {
  LossyNotes notes(1, [](int, std::size_t) { return LossyNotes::Next{}; });
  for (const auto kind : {LossyNote::Kind::called, LossyNote::Kind::returned}) {
    sim::Request request;
    request.data = sim::payload_of(fields_to_bytes(LossyNote{kind, 1}));
    REQUIRE(notes.serve({0, 0}, request, 0));
  }
  Failure found;
  found.verdict = Verdict::crash;
  found.cause = cause;
  found.message = message;
  found.ranks = {0};
  explain_crash(found, 1, notes);
  return found;
}

Failure crashed_in_the_wait(const std::string& signal) {
  return broken_in_the_wait("rank 0 crashed: " + signal + ": of some kind");
}

}  // namespace

TEST_CASE("a crash in wait(): only a signal of wrong memory is told as a dangling reference") {
  for (const char* signal : {"SIGSEGV", "SIGBUS", "SIGABRT"}) {
    CHECK_THAT(crashed_in_the_wait(signal).message, test::contains("is dangling by then"));
  }
  for (const char* signal : {"SIGFPE", "SIGILL"}) {
    const Failure found = crashed_in_the_wait(signal);
    CHECK(found.message == text("rank 0 crashed: ", signal, ": of some kind"));
    CHECK(found.where == "in wait()");
  }
}

TEST_CASE(
    "a handle without a tensor, or a spoilt line, in wait() is told as a dangling reference") {
  const Failure undefined = broken_in_the_wait(
      "rank 0 threw: copy_: the tensor that is read is undefined; likely cause: a handle is used "
      "before a tensor is in it",
      "undefined_tensor");
  CHECK_THAT(undefined.message, test::contains("is dangling by then"));
  CHECK_THAT(undefined.message, !test::contains("a handle is used before"));
  const Failure spoilt = broken_in_the_wait(
      "rank 0 broke its connection to the lab: it sent something that is not a frame (a length of "
      "7); was fd 3 written to, memory overwritten, or a std::thread started?");
  CHECK_THAT(spoilt.message, test::contains("(a length of 7); likely cause: it crashed in wait()"));
  CHECK_THAT(spoilt.message, !test::contains("fd 3"));
  const Failure other = broken_in_the_wait("rank 0 threw: narrow: of some kind");
  CHECK(other.message == "rank 0 threw: narrow: of some kind");
}
