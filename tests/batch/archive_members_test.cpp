#include "grader/batch/hand_ins/archive_members.hpp"

#include "engine/base/bytes.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string ring = "06_all_reduce/ring_all_reduce", quiz = "03_collectives/quiz";

Submission asked() {
  Submission submission;
  submission.answers[ring] = {};
  submission.answers[quiz] = {};
  return submission;
}

}  // namespace

TEST_CASE("archives: what a reader replies is what it found") {
  Submission found = asked();
  found.answers[ring] = {Answer::State::handed_in, std::string("m\0ine", 5), "", ""};
  found.answers[quiz] = {Answer::State::refused, "", "twice", "it is contained twice"};
  Submission heard = asked();
  read_reply(reply_of(found), {}, heard);
  CHECK(heard.answers.at(ring).state == Answer::State::handed_in);
  CHECK(heard.answers.at(ring).content == std::string("m\0ine", 5));
  CHECK(heard.answers.at(quiz).reason == "it is contained twice");
}

TEST_CASE("archives: a reader that was taken over can say nothing that the lab would not") {
  Submission forged = asked();
  std::string says;
  SECTION("an answer to an exercise that was not asked about") {
    forged.answers["../../secret"] = {};
    says = "an answer to no exercise";
  }
  SECTION("an answer of no kind") {
    forged.answers[ring].state = static_cast<Answer::State>(7);
    says = "an answer of no kind";
  }
  SECTION("a file that is too large") {
    forged.answers[ring] = {Answer::State::handed_in, std::string((1 << 20) + 1, ' '), "", ""};
    says = "malformed message";
  }
  SECTION("the content of a file that was refused") {
    forged.answers[ring] = {Answer::State::refused, "mine", "twice", ""};
    says = "was not handed in";
  }
  SECTION("a sentence of megabytes") {
    forged.reason = std::string(2 << 20, 'x');
    says = "malformed message";
  }
  Submission heard = asked();
  CHECK_THROWS_AS(read_reply(reply_of(forged), {}, heard), MalformedMessage);
  CHECK_THROWS_WITH(read_reply(reply_of(forged), {}, heard), test::contains(says));
  CHECK(reply_of(heard) == reply_of(asked()));
}

TEST_CASE("archives: a reader's sentences are fit for a terminal") {
  Submission forged = asked();
  forged.cause = "\x1b[2J";
  forged.answers[ring] = {Answer::State::refused, "", "twice", "\u202etxt"};
  Submission heard = asked();
  read_reply(reply_of(forged), {}, heard);
  CHECK(heard.cause == "?[2J");
  CHECK(heard.answers.at(ring).reason == "?txt");
}

TEST_CASE("archives: a reply that is cut or too long is no reply") {
  const std::string reply = reply_of(asked());
  Submission heard = asked();
  for (std::size_t size = 0; size < reply.size(); ++size) {
    CHECK_THROWS_AS(read_reply(reply.substr(0, size), {}, heard), MalformedMessage);
  }
  CHECK_THROWS_AS(read_reply(reply + "x", {}, heard), MalformedMessage);
}
