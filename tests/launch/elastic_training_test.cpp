// Training by ranks whose number changes: which of them train, which stand by, and what is refused.
#include <poll.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "engine/base/text.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/launch/leftovers.hpp"
#include "tests/launch/run.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::Leftovers;
using lockstep::test::Run;
using lockstep::test::Scratch;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  std::istringstream all(line);
  Words words;
  for (std::string word; all >> word;) words.push_back(word);
  return words;
}

struct Ended {
  int code;
  std::string output;
};
Ended training(const std::string& options) {
  Run run = Run::of(words_of(
      LOCKSTEP_TRAIN " --data synthetic --batch-size 8 --lr-schedule constant " + options));
  const int code = run.finish();
  return {code, run.seen()};
}

std::string elastic_launcher(const std::string& options, const std::string& endpoint,
                             const std::string& train) {
  return LOCKSTEP_RUN " --nnodes 1:2 --last-call 0.2 " + options + " --rdzv-endpoint " + endpoint +
         " -- " LOCKSTEP_TRAIN " --batch-size 8 " + train;
}
std::string endpoint_of(Run& first) {
  return text("127.0.0.1:", first.number_after("at 127.0.0.1:"));
}

}  // namespace

TEST_CASE("global batch: as many ranks train as share it out, and the rest stand by") {
  const Ended three = training("--ranks 3 --global-batch 32 --steps 3");
  CHECK(three.code == 0);
  CHECK_THAT(three.output,
             contains("--global-batch 32: 2 ranks train, 2 batches of 8 in a step; rank 2 stands "
                      "by\n") &&
                 contains(": 2 ranks, 2 batches of 8 a rank, 3 steps"));
  const Ended four = training("--ranks 4 --global-batch 8 --steps 1");
  CHECK(four.code == 0);
  CHECK_THAT(four.output, contains("1 rank trains, a batch of 8 in a step; ranks 1 to 3 stand by"));
  const Ended two = training("--ranks 2 --global-batch 32 --steps 1");
  CHECK(two.code == 0);
  CHECK_THAT(two.output, contains("2 ranks, 2 batches of 8 a rank") && !contains("stand"));
}

TEST_CASE("global batch: what cannot be is one sentence, with code 2") {
  struct Refusal {
    std::string options, sentence;
  };
  for (const Refusal& one : std::vector<Refusal>{
           {"--ranks 2 --global-batch 30",
            "--global-batch 30 is no multiple of the 8 samples of a batch, so no number of ranks "
            "can share it out; pass --global-batch 24, or another --batch-size"},
           {"--global-batch 4", "pass --global-batch 8"},
           {"--global-batch 0", "--global-batch must be at least 1, got 0"},
           {"--global-batch 32 --accumulate 2", "both say how many batches a step has"},
           {"--global-batch 32 --dp 2", "both say how many replicas train"},
           {"--ranks 3 --global-batch 32 --async", "those of --async do not"},
           {"--global-batch 32 --horovod", "Horovod does not divide by --backward-passes"},
           {"--backend sim --ranks 3 --global-batch 32",
            "rank 2 stands by\nsimulated ranks do not stand by: pass --ranks 2"}}) {
    const Ended ran = training(one.options);
    CAPTURE(one.options, ran.output);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.output, contains(one.sentence));
  }
}

TEST_CASE("elastic training: a rank that stands by and dies stops nobody, and is told at the end") {
  const Leftovers leftovers;
  const std::string train = "--data synthetic --global-batch 16 --steps 400";
  Run zero =
      Run::of(words_of(elastic_launcher("--ranks 2", "127.0.0.1:0", train)), leftovers.variables());
  Run one = Run::of(words_of(elastic_launcher("--ranks 1", endpoint_of(zero), train)),
                    leftovers.variables());
  REQUIRE(zero.read_until("2 ranks train, a batch of 8 in a step; rank 2 stands by"));
  const auto pid = leftovers.process_of_rank(2);
  REQUIRE(pid);
  const fs::path says = test::variable_of(*pid, "LOCKSTEP_SPARE");
  for (std::error_code none; !fs::exists(says) || fs::file_size(says, none) == 0;) {
    poll(nullptr, 0, 1);
  }
  kill(*pid, SIGKILL);
  CHECK(zero.finish() == 1);
  CHECK(one.finish() == 1);
  CHECK_THAT(zero.seen(), contains("] trained in ") && contains("rank 2 of 3 (pid ") &&
                              contains("was killed by signal 9") && !contains("round 2"));
}

TEST_CASE("elastic training: a world that is smaller than a replica waits for more ranks") {
  const Scratch scratch;
  const std::string file = (scratch.path() / "text.txt").string();
  std::ofstream(file) << std::string(400, 'a');
  const std::string train = "--tp 2 --model gpt --data text:" + file +
                            " --layers 1 --width 16 --heads 2 --sequence 8 --global-batch 8 "
                            "--steps 2";
  Run zero = Run::of(words_of(elastic_launcher("--ranks 1", "127.0.0.1:0", train)));
  REQUIRE(zero.read_until("waits for 1 of 2 ranks, for 600 s"));
  CHECK_THAT(zero.seen(), contains("a replica takes 2 ranks (--tp 2), and there is 1; start more"));
  Run one = Run::of(words_of(elastic_launcher("--ranks 1", endpoint_of(zero), train)));
  CHECK(zero.finish() == 0);
  CHECK(one.finish() == 0);
  CHECK_THAT(zero.seen(), contains("round 1 begins on 2 nodes, with 2 ranks; 0 restarts left"));
}

TEST_CASE(
    "elastic training: a node that does not see the checkpoints ends the run, which is saved") {
  const Scratch scratch;
  for (const char* folder : {"a", "b"}) fs::create_directory(scratch.path() / folder);
  const std::string train =
      "--data synthetic --global-batch 16 --steps 100000 --checkpoint run --save sharded";
  const auto in = [&](const char* folder, const std::string& endpoint) {
    return Words{"/bin/sh", "-c",
                 "cd " + (scratch.path() / folder).string() + " && exec " +
                     elastic_launcher("--ranks 1", endpoint, train)};
  };
  Run zero = Run::of(in("a", "127.0.0.1:0"));
  REQUIRE(zero.read_until(" on synthetic: 1 rank"));
  Run one = Run::of(in("b", endpoint_of(zero)));
  CHECK(zero.finish() == 1);
  CHECK(one.finish() == 1);
  CHECK_THAT(zero.seen(),
             contains("do the ranks share that folder?") && contains("exited with code 2"));
  CHECK_FALSE(fs::is_empty(scratch.path() / "a" / "run"));
}
