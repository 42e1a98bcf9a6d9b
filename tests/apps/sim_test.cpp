// ./lab sim as a person runs it: what the report says, and that it says it again.
#include <nlohmann/json.hpp>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using lockstep::test::contains;

namespace {

CommandResult sim(std::vector<std::string> words) {
  const lockstep::test::Scratch scratch;
  words.insert(words.begin(), LOCKSTEP_SIM);
  return run_command(words, scratch.path(), lockstep::test::patient);
}

std::string line_of(const std::string& output, const std::string& name) {
  const auto at = output.find("  " + name);
  return at == std::string::npos ? "" : output.substr(at, output.find('\n', at) - at);
}

}  // namespace

TEST_CASE("sim: a ring's messages, bytes and depth are those of its formula") {
  const auto ran = sim({"--ranks", "5", "ring_all_reduce", "--count", "20"});
  CAPTURE(ran.output);
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.output, contains("ring_all_reduce of 20 float32 on 5 ranks"));
  // 2(N-1) messages of D/N elements by each rank
  CHECK_THAT(line_of(ran.output, "messages"), contains("8 by the busiest rank, 40 by all"));
  CHECK_THAT(line_of(ran.output, "sent"), contains("128 bytes by the busiest rank, 640 bytes"));
  CHECK_THAT(line_of(ran.output, "depth"), contains("8 messages"));
  CHECK_THAT(line_of(ran.output, "values"), contains("correct on every rank"));
}

TEST_CASE("sim: sizes alone cost the same, and a priced collective sends no message") {
  const auto values = sim({"--ranks", "7", "ring_all_reduce", "--count", "10"});
  const auto sizes = sim({"--ranks", "7", "ring_all_reduce", "--count", "10", "--sizes-only"});
  for (const std::string name : {"virtual time", "messages", "sent", "depth"}) {
    CHECK(line_of(values.output, name) != "");
    CHECK(line_of(values.output, name) == line_of(sizes.output, name));
  }
  CHECK_THAT(line_of(sizes.output, "values"), contains("none"));
  const auto priced = sim({"--ranks", "7", "all_reduce"});
  CHECK_THAT(line_of(priced.output, "messages"), contains("0 by all"));
  CHECK_THAT(line_of(priced.output, "collectives"), contains("1, priced"));
}

TEST_CASE("sim: every program runs, also where nothing divides, and checks its values") {
  const std::string known = sim({}).output;
  for (const std::string name : {"exchange",
                                 "broadcast",
                                 "reduce",
                                 "scatter",
                                 "gather",
                                 "all_gather",
                                 "reduce_scatter",
                                 "all_to_all",
                                 "barrier",
                                 "naive_all_reduce",
                                 "ring_all_reduce",
                                 "tree_all_reduce",
                                 "halving_doubling_all_reduce",
                                 "hierarchical_all_reduce",
                                 "star_broadcast",
                                 "star_reduce",
                                 "all_reduce",
                                 "native_broadcast",
                                 "native_reduce",
                                 "native_scatter",
                                 "native_gather",
                                 "native_all_gather",
                                 "native_all_to_all",
                                 "native_barrier"}) {
    CHECK_THAT(known, contains(name));
    const auto ran = sim({"--ranks", "7", name, "--count", "10"});
    CAPTURE(ran.output);
    CHECK(ran.exit_code == 0);
    CHECK_THAT(line_of(ran.output, "values"), contains("correct on every rank"));
  }
}

TEST_CASE("sim: the same seed leaves the same trace, and time is the same for every seed") {
  const auto with_seed = [](const std::string& seed) {
    return sim({"--ranks", "16", "ring_all_reduce", "--count", "99", "--seed", seed}).output;
  };
  const auto one = with_seed("1"), again = with_seed("1"), other = with_seed("2");
  CHECK(line_of(one, "trace") != "");
  CHECK(line_of(one, "trace") == line_of(again, "trace"));
  CHECK(line_of(one, "virtual time") == line_of(other, "virtual time"));
}

TEST_CASE("sim: what cannot run is refused with what to type") {
  const auto unknown = sim({"ring"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.output,
             contains("no program 'ring'; did you mean ring_all_reduce? (programs: exchange, "));
  CHECK_THAT(sim({}).output, contains("./lab sim --ranks 8 ring_all_reduce"));
  CHECK(sim({"--ranks", "0", "all_reduce"}).exit_code == 2);
  CHECK_THAT(sim({"--ranks", "99999", "all_reduce"}).output, contains("above 32000"));
  CHECK_THAT(sim({"--dtype", "float31", "all_reduce"}).output, contains("float31"));
}

TEST_CASE("sim: an element type that cannot hold the sum is said to be the cause") {
  const auto ran = sim({"--ranks", "200", "ring_all_reduce", "--count", "5", "--dtype", "int8"});
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.output, contains("200"));
  CHECK_THAT(ran.output, contains("int8"));
}

TEST_CASE("sim: a fault is told with the rank or link that it struck, and with what came of it") {
  const auto killed = sim({"--ranks", "4", "ring_all_reduce", "--fault", "kill:2@step:5"});
  CAPTURE(killed.output);
  CHECK(killed.exit_code == 1);
  CHECK_THAT(killed.output, contains("rank 2 was killed by a fault at its call number 5, recv "
                                     "(solutions/06_all_reduce/ring_all_reduce.cpp:"));
  const auto cut = sim({"--ranks", "4", "ring_all_reduce", "--fault", "link:1-2:cut"});
  CHECK(cut.exit_code == 1);
  CHECK_THAT(cut.output, contains("the link between rank 1 and rank 2 is cut by a fault"));
  const auto refused = sim({"--ranks", "4", "ring_all_reduce", "--fault", "kill:4@1"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, contains("a fault names rank 4, but there are 4 (0 to 3)"));
}

TEST_CASE("sim: slow links and jitter change the time and nothing else, the same again") {
  const std::vector<std::string> ring{"--ranks", "4", "ring_all_reduce"};
  const auto plain = sim(ring);
  auto faulty = ring;
  for (const char* word : {"--fault", "link:0-1:slow:9", "--fault", "link:2-3:slow:2", "--slow",
                           "1:3", "--jitter", "0.5"}) {
    faulty.emplace_back(word);
  }
  const auto slowed = sim(faulty);
  CAPTURE(slowed.output);
  CHECK(slowed.exit_code == 0);
  CHECK(line_of(slowed.output, "virtual time") != line_of(plain.output, "virtual time"));
  CHECK(line_of(slowed.output, "virtual time") == line_of(sim(faulty).output, "virtual time"));
  for (const std::string name : {"messages", "sent", "depth", "values"}) {
    CHECK(line_of(slowed.output, name) == line_of(plain.output, name));
  }
}

TEST_CASE("sim: sets of contributors prove a sum of a billion elements, and nothing but sums") {
  for (const std::string name : {"reduce", "reduce_scatter", "naive_all_reduce", "ring_all_reduce",
                                 "tree_all_reduce", "halving_doubling_all_reduce"}) {
    const auto ran =
        sim({"--ranks", "48", name, "--sizes-only", "--prove", "--count", "1000000000"});
    CAPTURE(ran.output);
    CHECK(ran.exit_code == 0);
    CHECK_THAT(line_of(ran.output, "values"), contains("contains each of the 48 ranks once"));
  }
  CHECK(sim({"--ranks", "4", "all_reduce", "--sizes-only", "--prove"}).exit_code == 2);
  CHECK(sim({"--ranks", "4", "ring_all_reduce", "--prove"}).exit_code == 2);
}

TEST_CASE("sim: --json is one document, and --trace a file of the kind its name says") {
  const lockstep::test::Scratch scratch;
  const std::string page = (scratch.path() / "run.html").string();
  const auto ran =
      sim({"ring_all_reduce", "--ranks", "5", "--count", "20", "--json", "--trace", page});
  const auto document = nlohmann::json::parse(ran.output);
  CHECK(document.at("depth") == 8);
  CHECK(document.at("messages") == 40);
  CHECK(document.at("bytes_max") == 128);
  CHECK(document.at("finding").is_null());
  CHECK_THAT(read_text(page), contains("ring_all_reduce on 5 ranks"));
  CHECK(sim({"all_reduce", "--trace", "run.txt"}).exit_code == 2);
  CHECK(nlohmann::json::parse(sim({"all_reduce", "--json"}).output).at("collectives").size() == 1);
}
