// lessons/07_ddp/ddp_in_sixty_lines.cpp on two ranks: it learns, its replicas stay one model, and
// each of its losses is that of ./lab train.
#include <nlohmann/json.hpp>

#include <regex>
#include <sstream>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

const std::string bin = LOCKSTEP_BUILD "/bin/";

std::string output_of(const std::vector<std::string>& words, const std::filesystem::path& folder) {
  const CommandResult ran = run_command(words, folder, {.deadline_s = 120});
  INFO(ran.output);
  REQUIRE(ran.exit_code == 0);
  return ran.output;
}

// What the first group of `pattern` matches, in order.
std::vector<std::string> all_of(const std::string& output, const std::string& pattern) {
  const std::regex wanted(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(output.begin(), output.end(), wanted), end; it != end; ++it) {
    found.push_back(it->str(1));
  }
  return found;
}

// The losses of every 100th step, as the program prints them.
std::vector<std::string> losses_of_train(const std::filesystem::path& folder) {
  output_of({bin + "lockstep-run", "--ranks", "2", "--", bin + "train", "--data", "fashion-mnist",
             "--lr-schedule", "constant", "--epochs", "1", "--log", "log.jsonl"},
            folder);
  std::istringstream lines(read_text(folder / "log.jsonl"));
  std::vector<std::string> losses;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event.at("event") != "step" || event.at("step").get<int>() % 100 != 1) continue;
    std::ostringstream shown;
    shown << event.at("loss").get<double>();
    losses.push_back(shown.str());
  }
  return losses;
}

}  // namespace

TEST_CASE("ddp in sixty lines: it has sixty lines") {
  const std::string text = read_text(LOCKSTEP_ROOT "/lessons/07_ddp/ddp_in_sixty_lines.cpp");
  CHECK(std::ranges::count(text, '\n') <= 60);
}

TEST_CASE("ddp in sixty lines: the loss falls as train's does, and the replicas are equal") {
  const lockstep::test::Scratch scratch;
  const std::string output = output_of(
      {bin + "lockstep-run", "--ranks", "2", "--", bin + "ddp-in-sixty-lines"}, scratch.path());
  INFO(output);
  const auto losses = all_of(output, "step [0-9]+  loss ([0-9.]+)");
  const auto checksums = all_of(output, "checksum ([0-9]+)");
  REQUIRE(losses.size() == 5);
  CHECK(std::stod(losses.back()) < 0.5 * std::stod(losses.front()));
  CHECK(losses == losses_of_train(scratch.path()));
  REQUIRE(checksums.size() == 2);
  CHECK(checksums[0] == checksums[1]);
}
