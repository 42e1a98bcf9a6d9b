// ./lab bench all_reduce: what it refuses, that it measures, and that a wrong sum is no time. The
// peer is a script that says what PyTorch's program would.
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/apps/bench_sums.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

CommandResult measure(const test::Scratch& scratch, std::vector<std::string> words) {
  words.insert(words.begin(), {LOCKSTEP_BENCH, "all_reduce"});
  return run_command(words, scratch.path(), lockstep::test::patient);
}

// Standard error comes before it.
nlohmann::json document_in(const std::string& output) {
  return nlohmann::json::parse(output.substr(output.find("{\n")));
}

// A "Python" of which rank 0 runs these lines.
std::string python_of(const test::Scratch& scratch, const std::string& lines) {
  const fs::path python = scratch.path() / "python";
  write_text(
      python,
      "#!/bin/sh\n[ \"$1\" != -c ] || { echo {}; exit; }\n[ \"$RANK\" = 0 ] || exit 0\n" + lines);
  fs::permissions(python, fs::perms::owner_all);
  return python.string();
}

}  // namespace

TEST_CASE("lab bench all_reduce: wrong usage is refused with what to type") {
  const test::Scratch scratch;
  const auto refused = [&](const std::vector<std::string>& words, const std::string& part) {
    const auto result = measure(scratch, words);
    CAPTURE(words);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, test::contains(part));
  };
  refused({"--sizes", "5"}, "'5' is not a size");
  refused({"--sizes", "4G"}, "such as 4K or 16M");
  refused({"--ranks", "1"}, "from 2 to 64");
  refused({"--ranks", "two"}, "'two' is not a group size");
  refused({"--peer", "nccl"}, "is not one of torch, mpi, none");
  refused({"--repeats", "0"}, "repeats");
}

TEST_CASE("lab bench all_reduce: a peer that is not there is said, with the way to have it") {
  const test::Scratch scratch;
  const auto mpi = measure(scratch, {"--peer", "mpi", "--mpirun", "/no/mpirun"});
  CHECK(mpi.exit_code == 3);
  // What to type must find the library and keep the preset's generator.
  CHECK_THAT(mpi.output, test::contains("apt-get install libopenmpi-dev openmpi-bin") &&
                             test::contains("cmake --preset release") &&
                             !test::contains("CMakeCache"));
  const auto torch = measure(scratch, {"--peer", "torch", "--torch-python", "/bin/false"});
  CHECK(torch.exit_code == 3);
  CHECK_THAT(torch.output, test::contains("'/bin/false' has no PyTorch"));
}

TEST_CASE("lab bench all_reduce: each side has a row with its bandwidths and its ratio") {
  const test::Scratch scratch;
  const std::string python =
      python_of(scratch,
                "echo '{\"program\": \"Peer 1\", \"how\": \"gloo\", \"calls\": [{\"bytes\": 4096, "
                "\"seconds\": [1, 4096e-6, 2e-9]}]}'\n");
  const auto result = measure(scratch, {"--ranks", "2", "--sizes", "4K", "--repeats", "1", "--json",
                                        "--peer", "torch", "--torch-python", python});
  CAPTURE(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK_THAT(result.output,
             test::contains("[1/") && test::contains("2 ranks: round 1 of 1, ours\n"));
  const auto json = document_in(result.output);
  CHECK(json.at("bench") == "all_reduce");
  // Without Gloo there is no row of it.
  const auto rows = json.at("rows").size();
  REQUIRE((rows == 4 || rows == 5));
  if (rows == 5) CHECK(json.at("rows").at(2).at("case") == "2 ranks, 4 KiB, ours, over Gloo's TCP");
  const auto& ours = json.at("rows").at(0);
  CHECK(ours.at("case") == "2 ranks, 4 KiB, ours");
  CHECK(ours.at("ratio_median") == 1);
  const auto& peer = json.at("rows").at(rows - 2);
  CHECK(peer.at("case") == "2 ranks, 4 KiB, PyTorch");
  CHECK(peer.at("peer").get<double>() == test::Approx(4096));  // microseconds, the median
  CHECK(peer.at("algbw_gb_per_s").get<double>() == test::Approx(1e-3));
  CHECK(peer.at("busbw_gb_per_s").get<double>() == test::Approx(1e-3));  // 2(N-1)/N is 1 here
  CHECK(peer.at("ratio_median").get<double>() ==
        test::Approx(ours.at("ours").get<double>() / 4096));
  CHECK(json.at("rows").at(rows - 1).at("peer") > 0);  // the limit of the memory
}

TEST_CASE("lab bench all_reduce: a side that fails or leaves a size out is no comparison") {
  const test::Scratch scratch;
  const auto refused = [&](const std::string& lines, const std::string& part) {
    const auto result =
        measure(scratch, {"--ranks", "2", "--sizes", "4K", "--repeats", "1", "--peer", "torch",
                          "--torch-python", python_of(scratch, lines)});
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.output, test::contains(part));
  };
  refused("echo 'rank 0: wrong sum' >&2; exit 1\n", "wrong sum");
  refused("echo '{\"program\": \"Peer\", \"how\": \"\", \"calls\": []}'\n",
          "no time for 4096 bytes");
  refused("echo '{\"program\": \"Peer\"}'\n", "'how' not found");
}

TEST_CASE("lab bench all_reduce: a side that fails does not hide the others") {
  const test::Scratch scratch;
  const auto result = measure(
      scratch, {"--ranks", "2", "--sizes", "4K", "--repeats", "2", "--json", "--peer", "torch",
                "--torch-python", python_of(scratch, "echo 'no rank 1' >&2; exit 1\n")});
  CAPTURE(result.output);
  CHECK(result.exit_code == 1);
  const auto json = document_in(result.output);
  CHECK(json.at("failed").size() == 1);
  CHECK_THAT(json.at("failed").at(0).get<std::string>(), test::contains("PyTorch, 2 ranks: "));
  REQUIRE(json.at("rows").size() >= 3);
  for (const auto& row : json.at("rows")) CHECK(row.at("ratio_median") > 0);
}

TEST_CASE("lab bench all_reduce: when it is ended, what was measured so far is printed") {
  const test::Scratch scratch;
  const std::string python =
      python_of(scratch, ": > '" + scratch.path().string() + "/slow'; exec sleep 60\n");
  const bool as_json = GENERATE(true, false);
  const std::string line = "'" LOCKSTEP_BENCH
                           "' all_reduce --ranks 2 --sizes 4K --peer torch "
                           "--torch-python " +
                           python + (as_json ? " --json" : "") +
                           " & while [ ! -e slow ]; do sleep 0.01; done; kill -INT $!; wait $!";
  const auto result = run_command({"sh", "-c", line}, scratch.path(), lockstep::test::patient);
  CAPTURE(result.output);
  CHECK(result.exit_code == 1);
  if (as_json) {
    const auto json = document_in(result.output);
    CHECK(json.at("partial") == "interrupted by SIGINT");
    CHECK(json.at("rows").at(0).at("case") == "2 ranks, 4 KiB, ours");
  } else {
    CHECK_THAT(result.output, test::contains("partial  interrupted by SIGINT") &&
                                  test::contains("4 KiB  ours, the group's buffers"));
  }
}

TEST_CASE("bench sums: exactly the sum over all ranks is right") {
  std::vector<float> sum(1000), part(1000);
  for (int rank = 0; rank < 4; ++rank) {
    bench::write_values(part, rank);
    CHECK(bench::wrong_sum(part, 4).has_value());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    CHECK(bench::wrong_sum(sum, 4).has_value() == (rank < 3));
  }
  sum[999] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THAT(bench::wrong_sum(sum, 4).value_or(""), test::contains("element 999 of 1000"));
}
