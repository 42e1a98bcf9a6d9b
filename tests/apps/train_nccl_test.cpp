// train --backend nccl as a person runs it: a process a rank, each with a GPU that is paper, and
// between them NCCL that is paper, too. Losses beside gloo's, what ran beside what, and findings,
// of which there are none.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/text.hpp"
#include "engine/trace/data.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;
using trace::Lane;

namespace {

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct Run {
  CommandResult result;
  std::vector<nlohmann::json> log;
  std::string page;  // of --trace run.html

  std::vector<double> losses() const {
    std::vector<double> all;
    for (const nlohmann::json& line : log) {
      for (const char* field : {"loss", "test_loss"}) {
        if (line.contains(field)) all.push_back(line[field]);
      }
    }
    return all;
  }
};

// As small as it can be, since paper is slow.
Run train(const Words& words, const Words& environment = {}) {
  const lockstep::test::Scratch scratch;
  std::string sentences;
  for (int i = 0; i < 8; ++i) sentences += "A rank reads its own samples, and all add gradients. ";
  std::ofstream(scratch.path() / "text.txt") << sentences;
  const Words model{"--model",      "gpt",      "--layers",      "2",
                    "--width",      "8",        "--heads",       "2",
                    "--sequence",   "4",        "--steps",       "2",
                    "--lr",         "0.01",     "--lr-schedule", "constant",
                    "--batch-size", "4",        "--data",        "text:text.txt",
                    "--log",        "log.jsonl"};
  Run run{run_command(Words{"env"} + environment + Words{LOCKSTEP_TRAIN} + model + words,
                      scratch.path(), lockstep::test::patient),
          {},
          {}};
  if (run.result.exit_code != 0) return run;
  std::istringstream lines(read_text(scratch.path() / "log.jsonl"));
  for (std::string line; std::getline(lines, line);) run.log.push_back(nlohmann::json::parse(line));
  if (std::filesystem::exists(scratch.path() / "run.html")) {
    run.page = read_text(scratch.path() / "run.html");
  }
  return run;
}

const Words on_paper{"--backend", "nccl", "--paper"};
Words seeded(int seed) { return {text("PAPER_SEED=", seed)}; }

// Each of `ranks` processes says it once.
void check_no_findings(const Run& run, int ranks) {
  const std::string& told = run.result.output;
  int clean = 0;
  for (auto at = told.find("paper: no findings"); at != std::string::npos;
       at = told.find("paper: no findings", at + 1)) {
    ++clean;
  }
  CHECK(clean == ranks);
}

// The kernels of a GPU round as the CPU's do but sum in other orders, and so do NCCL's ranks:
// tests/gpu/training_test.cpp says why that comes to less than 2e-5 of a loss in some ten steps.
constexpr double float32_rounding = 2e-5;
// A code, or the choice of an entry, may fall to the other side; then it is off by a step of the
// code at once. What was lost comes back a step later or is one of hundreds of entries.
constexpr double a_code_apart = 2e-3;

void check_beside(const Run& seen, const Run& expected, double most) {
  CAPTURE(seen.result.output, expected.result.output);
  REQUIRE(seen.result.exit_code == 0);
  REQUIRE(expected.result.exit_code == 0);
  const auto there = seen.losses(), here = expected.losses();
  REQUIRE(here.size() >= 3);  // two steps or more, and the test set's
  REQUIRE(there.size() == here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    CAPTURE(i, there[i], here[i]);
    CHECK(std::abs(there[i] - here[i]) <= most * std::abs(here[i]));
  }
  CHECK(here.back() < here.front());
  CHECK(seen.log.back()["replicas_equal"] == true);
  CHECK(std::string(seen.log.front()["backend"]).ends_with(",away:nccl"));
  CHECK(seen.log.front()["device"] == "cuda on paper");
  // The host's clock sees when work was asked for, so nothing is told of what a step cost.
  for (const char* measured : {"hidden", "bubble"}) CHECK(!seen.log[1].contains(measured));
  CHECK_THAT(seen.result.output, !contains("samples/s"));
}

struct Way {
  std::string name;
  Words words;
};

// Plain sums, DDP, and the schedules on as many stages as ranks; of four ranks also two pipelines
// of two.
std::vector<Way> ways_on(int ranks) {
  const std::string stages = text(ranks);
  const auto pipeline = [&](const std::string& schedule) {
    return Words{"--pp", stages, "--schedule", schedule};
  };
  std::vector<Way> ways{{"plain", {"--no-overlap"}},
                        {"DDP", {"--bucket-mb", "0.002"}},
                        {"GPipe", pipeline("gpipe")},
                        {"1F1B", pipeline("1f1b")},
                        {"ZB-H1", pipeline("zero-bubble")}};
  if (ranks > 1) ways.push_back({"interleaved", pipeline("interleaved")});
  if (ranks > 2)
    ways.back().words = ways.back().words + Words{"--layers", "6"};  // two parts a stage
  if (ranks > 2) {
    ways.push_back({"two pipelines", {"--pp", "2", "--dp", "2", "--schedule", "interleaved"}});
  }
  return ways;
}

// A different seed for each way where there are fewer than a way has, so that all of them are seen.
void check_ways(int ranks, const std::vector<int>& seeds, std::size_t seeds_of_way,
                const std::vector<std::string>& only = {}, const Words& more = {}) {
  const Words world = Words{"--ranks", text(ranks)} + more;
  std::size_t turn = 0;
  for (const Way& way : ways_on(ranks)) {
    if (!only.empty() && std::ranges::find(only, way.name) == only.end()) continue;
    CAPTURE(way.name, ranks);
    const Run gloo = train(world + way.words);
    for (std::size_t k = 0; k < seeds_of_way; ++k) {
      const int seed = seeds[turn++ % seeds.size()];
      CAPTURE(seed);
      const Run nccl = train(world + way.words + on_paper, seeded(seed));
      check_beside(nccl, gloo, float32_rounding);
      check_no_findings(nccl, ranks);
    }
  }
}

const std::vector<Words> compressions{{"--compress", "fp16"},        {"--compress", "bf16"},
                                      {"--compress", "int8"},        {"--compress", "topk:0.1"},
                                      {"--compress", "randomk:0.1"}, {"--compress", "powersgd:2"}};
const std::vector<Words> further_ways{
    {"--all-reduce", "ring"}, {"--join", "initial"}, {"--accumulate", "2"}};

void check_two_ranks(const Words& way, double most) {
  const Words world = Words{"--ranks", "2"} + way;
  CAPTURE(way);
  const Run nccl = train(world + on_paper);
  check_beside(nccl, train(world), most);
  check_no_findings(nccl, 2);
}

std::vector<int> twenty() {
  std::vector<int> seeds;
  for (int seed = 1; seed <= 20; ++seed) seeds.push_back(seed);
  return seeds;
}

// Of every rank: seconds that NCCL was under way, and those of them in which this rank carried out
// kernels of its backward pass.
struct Seconds {
  double communicated = 0, beside_backward = 0;
  int collectives = 0;
};
Seconds seconds_of(const Run& run) {
  const std::string mark = "id=\"data\">";
  const auto start = run.page.find(mark) + mark.size();
  const trace::Timeline timeline =
      trace::read_data(run.page.substr(start, run.page.find("</script>", start) - start));
  Seconds seconds;
  for (const trace::Span& moved : timeline.spans) {
    if (timeline.names[moved.name] != "ncclAllReduce") continue;
    CHECK(moved.lane == Lane::communication);
    ++seconds.collectives;
    seconds.communicated += moved.end_s - moved.start_s;
    for (const trace::Span& ran : timeline.spans) {
      if (ran.rank != moved.rank || timeline.names[ran.name] != "backward") continue;
      const double both = std::min(ran.end_s, moved.end_s) - std::max(ran.start_s, moved.start_s);
      seconds.beside_backward += std::max(both, 0.0);
    }
  }
  return seconds;
}

}  // namespace

TEST_CASE("train over NCCL on paper: one rank, DDP and every schedule, gloo's losses") {
  check_ways(1, {1, 2, 3}, 1);
}
TEST_CASE("train over NCCL on paper: two ranks, DDP and every schedule, gloo's losses") {
  check_ways(2, {1, 2, 3}, 1);
}
TEST_CASE("train over NCCL on paper: two ranks, DDP and 1F1B with three seeds each") {
  check_ways(2, {1, 2, 3}, 3, {"DDP", "1F1B"});
}
TEST_CASE("train over NCCL on paper: four ranks, DDP and every schedule, gloo's losses") {
  check_ways(4, {3, 1, 2}, 1);
}
TEST_CASE("train over NCCL on paper: 20 seeds on one and two ranks", "[.all]") {
  for (const int ranks : {1, 2}) check_ways(ranks, twenty(), 20, {}, {"--steps", "3"});
}
TEST_CASE("train over NCCL on paper: 20 seeds on four ranks", "[.all]") {
  check_ways(4, twenty(), 20, {}, {"--steps", "3"});
}

TEST_CASE("train over NCCL on paper: DDP's buckets travel beside the backward pass") {
  const Words world{"--ranks", "2", "--steps", "3", "--trace", "run.html"};
  for (const int seed : {1, 2, 3}) {
    CAPTURE(seed);
    const Run run = train(world + Words{"--bucket-mb", "0.002"} + on_paper, seeded(seed));
    CAPTURE(run.result.output);
    REQUIRE(run.result.exit_code == 0);
    check_no_findings(run, 2);
    const Seconds seconds = seconds_of(run);
    CHECK(seconds.collectives >= 2 * 3 * 3);  // several a rank and step
    CHECK(seconds.beside_backward > 0.1 * seconds.communicated);
  }
  const Run alone = train(world + Words{"--no-overlap"} + on_paper, seeded(1));
  CAPTURE(alone.result.output);
  REQUIRE(alone.result.exit_code == 0);
  const Seconds seconds = seconds_of(alone);
  CHECK(seconds.collectives >= 2 * 3);
  CHECK(seconds.beside_backward == 0);
}

TEST_CASE("train over NCCL on paper: Horovod, gloo's losses") {
  check_two_ranks({"--horovod"}, float32_rounding);
}
TEST_CASE("train over NCCL on paper: sharded state, gloo's losses") {
  check_two_ranks({"--zero", "2"}, float32_rounding);
  check_two_ranks({"--fsdp", "full_shard", "--shards", "rows"}, float32_rounding);
}
TEST_CASE("train over NCCL on paper: layers that two ranks share, gloo's losses") {
  check_two_ranks({"--tp", "2"}, float32_rounding);
  check_two_ranks({"--tp", "2", "--sp", "--recompute"}, float32_rounding);
}
TEST_CASE("train over NCCL on paper: shared layers in stages and in shards, gloo's losses",
          "[.all]") {
  for (const Words& way : {Words{"--pp", "2"}, Words{"--fsdp", "full_shard"}}) {
    const Words world = Words{"--ranks", "4", "--tp", "2", "--sp"} + way;
    CAPTURE(way);
    const Run nccl = train(world + on_paper);
    check_beside(nccl, train(world), float32_rounding);
    check_no_findings(nccl, 4);
  }
}
TEST_CASE("train over NCCL on paper: state on the host, gloo's losses, in the stream's order") {
  check_two_ranks({"--zero", "2", "--offload", "optimizer"}, float32_rounding);
  check_two_ranks({"--fsdp", "full_shard", "--offload", "all", "--accumulate", "2"},
                  float32_rounding);
  // What lies on the host is saved with what lies on the GPU, and one rank goes on from it.
  const lockstep::test::Scratch scratch;
  const Words folder{"--checkpoint", (scratch.path() / "run").string()};
  const Run saved =
      train(Words{"--ranks", "2", "--zero", "1", "--offload", "optimizer"} + folder + on_paper);
  CAPTURE(saved.result.output);
  REQUIRE(saved.result.exit_code == 0);
  const Run onwards = train(Words{"--ranks", "1", "--steps", "3", "--resume"} + folder);
  CAPTURE(onwards.result.output);
  REQUIRE(onwards.result.exit_code == 0);
  CHECK(onwards.losses().front() < saved.losses().front());
}
TEST_CASE("train over NCCL on paper: each compression, gloo's losses") {
  for (const Words& way : compressions) check_two_ranks(way, a_code_apart);
}
TEST_CASE("train over NCCL on paper: our own ring, uneven inputs and several batches a step") {
  for (const Words& way : further_ways) check_two_ranks(way, float32_rounding);
}
TEST_CASE("train over NCCL on paper: Horovod, compressions and others in three steps", "[.all]") {
  const Words steps{"--steps", "3"};
  check_two_ranks(Words{"--horovod"} + steps, float32_rounding);
  for (const Words& way : compressions) check_two_ranks(way + steps, a_code_apart);
  for (const Words& way : further_ways) check_two_ranks(way + steps, float32_rounding);
}

TEST_CASE("train over NCCL on paper: a checkpoint of gloo's ranks goes on on GPUs, as pipelines") {
  const lockstep::test::Scratch scratch;
  const Words folder{"--checkpoint", (scratch.path() / "run").string()};
  const Run first = train(Words{"--ranks", "2"} + folder);
  CAPTURE(first.result.output);
  REQUIRE(first.result.exit_code == 0);
  const Run onwards =
      train(Words{"--pp", "2", "--dp", "2", "--steps", "3", "--resume"} + folder + on_paper);
  CAPTURE(onwards.result.output);
  REQUIRE(onwards.result.exit_code == 0);
  CHECK_THAT(onwards.result.output, contains("continues at step 2"));
  check_no_findings(onwards, 4);
}

// A pair costs a communicator, a stream and a buffer, so a plan should name few, and it does.
TEST_CASE("train over NCCL on paper: messages connect exactly the pairs that a schedule names") {
  const std::string neighbours = "0→1, 1→0, 1→2, 2→1, 2→3, 3→2";
  // The last stage hands on to the first one, whose second part follows; and the other way round.
  const std::string around = "0→1, 0→3, 1→0, 1→2, 2→1, 2→3, 3→0, 3→2";
  const auto [schedule, told] =
      GENERATE_COPY(std::pair("gpipe", text("6 (", neighbours, "), with 50.3 MB of NCCL's")),
                    std::pair("1f1b", text("6 (", neighbours, "), with 50.3 MB of NCCL's")),
                    std::pair("interleaved", text("8 (", around, "), with 67.1 MB of NCCL's")));
  CAPTURE(schedule);
  const Run run = train(
      Words{"--ranks", "4", "--pp", "4", "--schedule", schedule, "--layers", "6", "--steps", "1"} +
      on_paper);
  CAPTURE(run.result.output);
  REQUIRE(run.result.exit_code == 0);
  CHECK_THAT(run.result.output, contains("pairs of ranks with messages: " + told));
  check_no_findings(run, 4);
}

TEST_CASE("train over NCCL on paper: where no rank sends messages, no pair is told") {
  const Run run = train(Words{"--ranks", "2", "--steps", "1"} + on_paper);
  CAPTURE(run.result.output);
  REQUIRE(run.result.exit_code == 0);
  CHECK_THAT(run.result.output, !contains("pairs of ranks"));
}

TEST_CASE("train over NCCL on paper: an operation that fails is told by every rank, soon") {
  const Run run = train(Words{"--ranks", "2"} + on_paper, {"PAPER_FAIL_COLLECTIVE=3"});
  CAPTURE(run.result.output);
  CHECK(run.result.exit_code == 1);
  CHECK(run.result.seconds < 30);
  CHECK_THAT(run.result.output, contains("rank 0") && contains("rank 1"));
}
