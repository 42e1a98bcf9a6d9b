// The myths: each program measures what contradicts its claim, and the texts name only those that
// there are.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "grader/course/compile/command.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/patience.hpp"

using namespace lockstep;
using namespace lockstep::grader;
namespace fs = std::filesystem;

namespace {

CommandResult myth(std::vector<std::string> words) {
  words.insert(words.begin(), {LOCKSTEP_TOOL, "myth"});
  return run_command(words, LOCKSTEP_ROOT, lockstep::test::patient);
}

nlohmann::json all_myths() { return nlohmann::json::parse(myth({"--json"}).output); }

constexpr std::ptrdiff_t lines_max = 50;

}  // namespace

TEST_CASE("myths: every program says its claim, and measures what contradicts it") {
  const auto myths = all_myths();
  CHECK(myths.size() >= 12);
  std::set<std::string> names;
  for (const auto& one : myths) {
    const auto name = one.at("name").get<std::string>();
    const auto claim = one.at("claim").get<std::string>();
    INFO(name);
    CHECK(names.insert(name).second);
    CHECK_FALSE(claim.empty());
    const auto ran =
        run_command({LOCKSTEP_BUILD "/bin/myth-" + name}, LOCKSTEP_ROOT, lockstep::test::patient);
    INFO(ran.output);
    CHECK(ran.exit_code == 0);
    CHECK(ran.output.starts_with("\"" + claim + "\"\n"));
    CHECK(std::ranges::count(ran.output, '\n') >= 2);
    CHECK(ran.processor_s < 10);  // seconds depend on what else the machine does
    const std::string source = read_text(fs::path(LOCKSTEP_ROOT) / one.at("source"));
    CHECK(std::ranges::count(source, '\n') <= lines_max);
  }
}

TEST_CASE("myths: those that the lessons name are there") {
  std::set<std::string> names;
  for (const auto& one : all_myths()) names.insert(one.at("name"));
  const std::string call = "./lab myth ";
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(LOCKSTEP_ROOT) / "lessons")) {
    if (entry.path().extension() != ".md") continue;
    const std::string words = read_text(entry.path());
    for (auto at = words.find(call); at != words.npos; at = words.find(call, at)) {
      at += call.size();
      const auto end = words.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at);
      const std::string name = words.substr(at, end - at);
      INFO(entry.path().string() << " names " << name);
      CHECK((name.empty() || names.contains(name)));
    }
  }
}

TEST_CASE("lab myth: one is run by its name, and a name that is none is guessed") {
  const auto ran = myth({"all_reduce_averages"});
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.output, test::contains("gives 10\n") &&
                             test::contains("05_data_parallel/myths/all_reduce_averages.cpp"));
  const auto guessed = myth({"all_reduce_average"});
  CHECK(guessed.exit_code == 2);
  CHECK_THAT(guessed.output, test::contains("did you mean all_reduce_averages?"));
  CHECK_THAT(myth({}).output, test::contains("\"All-reduce averages the gradients.\""));
  CHECK(myth({"a", "b"}).exit_code == 2);
}
