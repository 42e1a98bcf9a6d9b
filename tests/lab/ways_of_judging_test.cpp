// The other ways to judge a file: under sanitizers, among real processes, in a debugger.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/lab/tree.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

namespace fs = std::filesystem;

const std::string ring_file = "06_all_reduce/ring_all_reduce.cpp";
const std::string average = "05_data_parallel/average_gradients.cpp";

// Writes one element behind the end of a vector, into what the allocator rounds 32 bytes up to.
void write_with_a_stray_write(const test::Tree& tree) {
  tree.write_changed(average, "  const double share = 1.0 / group.size();\n",
                     "  std::vector<double> shares(4, 1.0 / group.size());\n"
                     "  for (std::size_t i = 0; i <= shares.size(); ++i) shares[i] = shares[0];\n"
                     "  const double share = shares[0];\n");
}

}  // namespace

TEST_CASE(
    "lab check --sanitize: a write behind the end of a vector is found, and told by its line") {
  if (LOCKSTEP_SANITIZED) return;  // the lab itself is built so, and checks every player
  const test::Tree tree;
  write_with_a_stray_write(tree);
  CHECK(tree.lab({"check", "average_gradients"}).exit_code == 0);
  const auto seen = tree.lab({"check", "average_gradients", "--sanitize"});
  INFO(seen.output);
  CHECK(seen.exit_code == 1);
  CHECK_THAT(seen.output, test::contains("crash  with sanitizers: no points"));
  CHECK_THAT(seen.output, test::contains("it writes 8 bytes outside an allocated array"));
  CHECK_THAT(seen.output, test::contains("work/" + average + ":12"));
  CHECK_THAT(tree.lab({"list"}).output, test::contains("1 of "));  // as it was judged before
}

TEST_CASE(
    "lab check --sanitize: a read behind the end of a tensor is found, and told by its line") {
  if (LOCKSTEP_SANITIZED) return;
  const test::Tree tree;
  tree.write_changed(average, "    grad.scale_(share);\n",
                     "    grad.scale_(share);\n"
                     "    volatile std::byte behind = grad.address()[grad.bytes()];\n"
                     "    (void)behind;\n");
  CHECK(tree.lab({"check", "average_gradients"}).exit_code == 0);
  const auto seen = tree.lab({"check", "average_gradients", "--sanitize"});
  INFO(seen.output);
  CHECK(seen.exit_code == 1);
  CHECK_THAT(seen.output, test::contains("crash  with sanitizers: no points"));
  CHECK_THAT(seen.output, test::contains("behind the end of a tensor"));
  CHECK_THAT(seen.output, test::contains("work/" + average + ":17"));
}

TEST_CASE("lab check --sanitize: a right file passes, for no points") {
  if (LOCKSTEP_SANITIZED) return;
  const test::Tree tree;
  tree.solve(ring_file);
  const auto seen = tree.lab({"check", "ring_all_reduce", "--sanitize"});
  INFO(seen.output);
  CHECK(seen.exit_code == 0);
  CHECK_THAT(seen.output, test::contains("pass  with sanitizers: no points"));
  CHECK_THAT(tree.lab({"list"}).output, test::contains("0 of "));
}

TEST_CASE("lab check --world gloo: real processes confirm values, and only values") {
  const test::Tree tree;
  for (const std::string& file : {ring_file, average}) {
    tree.solve(file);
    const std::string name = fs::path(file).stem();
    const auto report =
        nlohmann::json::parse(tree.lab({"check", name, "--world", "gloo", "--json"}).output);
    INFO(report.dump(2));
    CHECK(report.at("verdict") == "pass");
    CHECK(report.at("points") == 0);
    CHECK(report.at("checks").back().at("verdict") == "skipped");
    CHECK_THAT(report.at("checks").back().at("message").get<std::string>(),
               test::contains("not measured"));
  }
  tree.write_changed(ring_file, "mine.reduce_(arrived, op);", "mine.copy_(arrived);");
  const auto wrong = tree.lab({"check", "ring_all_reduce", "--world", "gloo"});
  CHECK(wrong.exit_code == 1);
  CHECK_THAT(wrong.output, test::contains("values only, on real processes: no points"));
  CHECK(tree.lab({"check", "model_memory", "--world", "gloo"}).exit_code == 2);
}

TEST_CASE("lab check: what ranks print is shown when it fails, and else with --output") {
  const test::Tree tree;
  const std::string place = "  const int size = peers.size();\n";
  const std::string print = place + "  std::printf(\"rank %d has no newline\", peers.rank());\n";
  tree.write_changed(ring_file, place, print);
  const std::string quiet = tree.lab({"check", "ring_all_reduce"}).output;
  CHECK_THAT(quiet, !test::contains("no newline"));
  CHECK_THAT(quiet, test::contains("ranks printed output"));
  CHECK_THAT(tree.lab({"check", "ring_all_reduce", "--output"}).output,
             test::contains("rank 1    rank 1 has no newline"));
  tree.write_changed(ring_file, place,
                     place +
                         "  for (int i = 0; i < 300; ++i) std::printf(\"line %d\\n\", i);\n"
                         "  if (size > 1) throw 7;\n");
  const std::string loud = tree.lab({"check", "ring_all_reduce"}).output;
  CHECK_THAT(loud, test::contains("line 19\n"));
  CHECK_THAT(loud, !test::contains("line 20\n"));
  CHECK_THAT(loud, test::contains("more lines"));
}

TEST_CASE("lab debug: stops in the student's part, on the rank and in the case that failed") {
  if (LOCKSTEP_SANITIZED || !fs::exists("/usr/bin/gdb")) return;
  const test::Tree tree;
  tree.write_changed(ring_file, "mine.reduce_(arrived, op);", "mine.copy_(arrived);");
  CHECK(tree.lab({"check", "ring_all_reduce"}).exit_code == 1);
  const auto seen =
      tree.lab({"debug", "ring_all_reduce", "--rank", "1", "--", "--batch", "-ex", "backtrace",
                "-ex", "next", "-ex", "next", "-ex", "print rank", "-ex", "kill"});
  INFO(seen.output);
  CHECK_THAT(seen.output, test::contains("ring_all_reduce.cpp"));
  CHECK_THAT(seen.output, test::contains("of seed 1, rank 1"));
  CHECK_THAT(seen.output, test::contains("#0  lockstep::collectives::ring_all_reduce"));
  CHECK_THAT(seen.output, test::contains("$1 = 1"));
  const auto beyond = tree.lab({"debug", "ring_all_reduce", "--rank", "7", "--", "--batch"});
  CHECK(beyond.exit_code == 2);
  CHECK_THAT(tree.lab({"debug", "ring_all_reduce", "--seed", "x"}).output,
             test::contains("--seed takes a whole number, got \"x\""));
  CHECK(tree.lab({"debug", "ring_all_reduce", "--seed", "x"}).exit_code == 2);
}

TEST_CASE("lab debug: quit ends it without a verdict, and a case that ends in gdb has one") {
  if (LOCKSTEP_SANITIZED || !fs::exists("/usr/bin/gdb")) return;
  const test::Tree tree;
  tree.write_changed(ring_file, "mine.reduce_(arrived, op);", "mine.copy_(arrived);");
  const auto left = tree.lab({"debug", "ring_all_reduce", "--", "--batch", "-ex", "quit"});
  INFO(left.output);
  CHECK(left.exit_code == 0);
  CHECK_THAT(left.output, test::contains("gdb ended before the case did, so there is no verdict"));
  CHECK_THAT(left.output, !test::contains("rank exited"));
  const auto through = tree.lab({"debug", "ring_all_reduce", "--case", "3", "--", "--batch", "-ex",
                                 "delete", "-ex", "continue"});
  INFO(through.output);
  CHECK(through.exit_code == 1);
  CHECK_THAT(through.output, test::contains("06_all_reduce/ring_all_reduce  wrong answer: "));
}

TEST_CASE("lab check: editors are told how files in work are compiled") {
  const test::Tree tree;
  tree.solve(ring_file);
  tree.lab({"check", "ring_all_reduce"});
  const auto entries = nlohmann::json::parse(read_text(tree.root() / "work/compile_commands.json"));
  REQUIRE(entries.size() == 1);
  CHECK(entries.at(0).at("file") == (tree.root() / "work" / ring_file).string());
  CHECK(entries.at(0).at("arguments").dump().find("-std=c++20") != std::string::npos);
}
