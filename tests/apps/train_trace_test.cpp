// train --trace: the same lanes of simulated ranks and of real processes.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/text.hpp"
#include "engine/trace/data.hpp"
#include "engine/trace/summary.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using trace::Lane;

namespace {

using Words = std::vector<std::string>;

// The data of the page that a run leaves, or the reason why there is none.
trace::Timeline traced(Words words) {
  const lockstep::test::Scratch scratch;
  std::ofstream file(scratch.path() / "text.txt");
  for (int i = 0; i < 20; ++i) file << "A rank gathers a unit, and frees it after its pass. ";
  file.close();
  words.insert(words.begin(), LOCKSTEP_TRAIN);
  words.insert(words.end(), {"--trace", "run.html"});
  const auto ran = run_command(words, scratch.path(), lockstep::test::patient);
  INFO(ran.output);
  REQUIRE(ran.exit_code == 0);
  const std::string page = read_text(scratch.path() / "run.html");
  const std::string mark = "id=\"data\">";
  const auto start = page.find(mark) + mark.size();
  return trace::read_data(page.substr(start, page.find("</script>", start) - start));
}

double seconds_of(const trace::Timeline& run, const std::string& name, int rank) {
  double seconds = 0;
  for (const trace::Span& span : run.spans) {
    if (span.rank == rank && span.lane == Lane::compute && run.names[span.name] == name) {
      seconds += span.end_s - span.start_s;
    }
  }
  return seconds;
}

const Words mlp{"--data", "synthetic", "--steps", "3", "--batch-size", "64"};
const Words gpt{
    "--model", "gpt",       "--sizes-only", "--layers", "4",       "--width",   "256",
    "--heads", "4",         "--sequence",   "128",      "--vocab", "512",       "--batch-size",
    "4",       "--backend", "sim",          "--ranks",  "4",       "--cluster", "h100"};

Words both(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("train on sim: the timeline has the phases of a step, its collectives and its memory") {
  const trace::Timeline run = traced(both(gpt, {"--bucket-mb", "1"}));
  CHECK(run.ranks == 4);
  CHECK(run.clock == trace::Clock::virtual_time);
  for (int rank = 0; rank < 4; ++rank) {
    const double forward = seconds_of(run, "forward", rank);
    CHECK(forward > 0);
    CHECK(seconds_of(run, "backward", rank) > forward);
    CHECK(seconds_of(run, "optimizer", rank) > 0);
  }
  CHECK(run.series.size() == 4);
  double most = 0;
  for (const auto& sample : run.series[0].samples) most = std::max(most, sample.value);
  CHECK(most > 1e6);
  const auto ranks = summary_of(run);
  CHECK(ranks[0].communication_s > 0);
  CHECK(ranks[0].collective_bytes > 0);
}

TEST_CASE("train on sim: what the timeline shows as overlap is less without buckets that overlap") {
  const double with = overlap_of(summary_of(traced(both(gpt, {"--bucket-mb", "1"}))));
  const double without = overlap_of(summary_of(traced(both(gpt, {"--no-overlap"}))));
  CHECK(with > without + 0.2);
  CHECK(without < 0.2);
}

TEST_CASE("train on processes: rank 0 puts the lanes of all together, and leaves no part behind") {
  const trace::Timeline run = traced(both(mlp, {"--ranks", "2", "--bucket-mb", "0.1"}));
  CHECK(run.ranks == 2);
  CHECK(run.clock == trace::Clock::wall);
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(seconds_of(run, "forward", rank) > 0);
    CHECK(seconds_of(run, "backward", rank) > 0);
  }
  int buckets = 0;
  for (const trace::Span& span : run.spans) {
    CHECK(span.start_s >= 0);
    buckets += span.lane == Lane::communication;
  }
  CHECK(buckets >= 2 * 3);  // at least one a rank and step
}

// Ranks of two copies: shards are gathered and reduced between two neighbours, and then across.
TEST_CASE("train on processes: the collectives of shards are in the timeline, unit by unit") {
  const Words shards{"--model",       "gpt", "--layers",     "2",
                     "--width",       "16",  "--heads",      "2",
                     "--sequence",    "8",   "--data",       "text:text.txt",
                     "--steps",       "3",   "--batch-size", "2",
                     "--ranks",       "4",   "--fsdp",       "hybrid_shard",
                     "--shard-ranks", "2"};
  const trace::Timeline run = traced(shards);
  for (int rank = 0; rank < 4; ++rank) {
    CAPTURE(rank);
    std::map<std::string, std::vector<trace::Span>> spans;
    std::map<int, double> free_s;  // by queue
    for (const trace::Span& span : run.spans) {
      if (span.rank != rank || span.lane != Lane::communication) continue;
      const std::string& name = run.names[span.name];
      CHECK(span.bytes > 0);
      CHECK(span.strand == (name.starts_with("all_reduce") ? 1 : 0));
      CHECK(span.start_s >= free_s[span.strand]);
      CHECK(span.end_s >= span.start_s);
      free_s[span.strand] = span.end_s;
      spans[name].push_back(span);
    }
    int units = 0;
    for (; spans.contains(text("reduce_scatter of unit ", units)); ++units) {
      CAPTURE(units);
      const auto& reduced = spans.at(text("reduce_scatter of unit ", units));
      const auto& across = spans.at(text("all_reduce of unit ", units));
      REQUIRE(reduced.size() == 3);  // one a step
      REQUIRE(across.size() == 3);
      CHECK(spans.at(text("all_gather of unit ", units)).size() >= 3);
      for (std::size_t step = 0; step < 3; ++step) {
        CHECK(across[step].start_s >= reduced[step].end_s);
        CHECK(across[step].bytes * 2 == reduced[step].bytes);
      }
    }
    CHECK(units >= 4);
  }
}

TEST_CASE("train: a timeline of another kind is refused before anything is trained") {
  const lockstep::test::Scratch scratch;
  const auto ran = run_command(both({LOCKSTEP_TRAIN, "--trace", "run.txt"}, mlp), scratch.path(),
                               lockstep::test::patient);
  CHECK(ran.exit_code == 2);
  CHECK_THAT(ran.output, lockstep::test::contains(".html"));
}
