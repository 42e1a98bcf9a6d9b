// A hand-in as an archive (zip, tar, tar.gz, …), read as the confined child of archive.cpp reads
// it, under limits so small that a bomb fits into an input. The same bytes are read once more, as
// what that child replies after an archive has taken it over.
#include <clocale>
#include <cstdint>
#include <string>

#include "engine/base/bytes.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/hand_ins/archive_members.hpp"
#include "tests/fuzz/expect.hpp"

namespace {

using namespace lockstep;
using test::expect;
using namespace lockstep::grader;

constexpr SubmissionLimits limits{
    .file_bytes = 4 << 10, .archive_bytes = 1 << 20, .unpacked_bytes = 64 << 10, .members = 20};

const std::vector<Exercise>& exercises() {
  static const std::vector<Exercise> all = [] {
    std::setlocale(LC_CTYPE, "C.UTF-8");  // as the child does
    std::vector<Exercise> two(2);
    two[0].name = "ring_all_reduce";
    two[0].lesson = "06_all_reduce";
    two[1].name = "quiz";
    two[1].lesson = "03_collectives";
    two[1].kind = Kind::quiz;
    return two;
  }();
  return all;
}

Submission nothing_yet() {
  Submission submission;
  for (const Exercise& exercise : exercises()) submission.answers[exercise.address()] = {};
  return submission;
}

void expect_printable(const std::string& words) {
  expect(words == sim::printable(words, words.size()));
}

// Whatever the bytes are, a judge and a report can take what comes out.
void expect_fit(const Submission& submission) {
  expect_printable(submission.cause);
  expect_printable(submission.reason);
  expect(submission.answers.size() == exercises().size());
  for (const auto& [address, answer] : submission.answers) {
    expect(answer.content.size() <= limits.file_bytes);
    expect(answer.state == Answer::State::handed_in || answer.content.empty());
    expect_printable(answer.cause);
    expect_printable(answer.reason);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::vector<const Exercise*> asked;
  for (const Exercise& exercise : exercises()) asked.push_back(&exercise);
  Submission inside = nothing_yet();
  read_members(bytes, asked, limits, inside);
  expect_fit(inside);
  Submission outside = nothing_yet();
  read_reply(reply_of(inside), limits, outside);
  expect(reply_of(outside) == reply_of(inside));

  Submission forged = nothing_yet();
  try {
    read_reply(bytes, limits, forged);
  } catch (const MalformedMessage&) {
  }
  expect_fit(forged);
  return 0;
}
