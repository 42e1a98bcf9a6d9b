// What is said of a crash of a part that reduces gradients in fewer bytes.
#include "grader/exam/lossy_rules.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

// Rank 0 has returned from its first call, and crashes before its wait() is over.
Failure crashed_in_the_wait(const std::string& signal) {
  LossyNotes notes({.steps = 1, .reports = 3});
  for (const auto kind : {LossyNote::Kind::called, LossyNote::Kind::returned}) {
    sim::Request request;
    request.data = sim::payload_of(fields_to_bytes(LossyNote{kind, 1}));
    REQUIRE(notes.serve({0, 0}, request, 0));
  }
  Failure found;
  found.verdict = Verdict::crash;
  found.cause = "crash";
  found.message = "rank 0 crashed: " + signal + ": of some kind";
  found.ranks = {0};
  explain_crash(found, 1, notes);
  return found;
}

}  // namespace

TEST_CASE("a crash in wait(): only a signal of wrong memory is told as a dangling reference") {
  for (const char* signal : {"SIGSEGV", "SIGBUS", "SIGABRT"}) {
    CHECK_THAT(crashed_in_the_wait(signal).message, test::contains("is dangling by then"));
  }
  for (const char* signal : {"SIGFPE", "SIGILL"}) {
    const Failure found = crashed_in_the_wait(signal);
    CHECK(found.message == text("rank 0 crashed: ", signal, ": of some kind"));
    CHECK(found.where == ", in wait()");
  }
}
