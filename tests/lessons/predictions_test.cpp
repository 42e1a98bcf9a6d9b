// Each lesson's predict.toml fits its text: a prediction for each run, named where the run stands,
// and answered by the output that is shown.
#include "grader/course/predictions.hpp"

#include <filesystem>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/lessons/text.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

// What does not fit, in sentences; `folder` is one such as lessons/06_all_reduce.
std::vector<std::string> what_does_not_fit(const fs::path& folder) {
  std::vector<std::string> complaints;
  try {
    int number = 0;
    for (const grader::PredictedRun& predicted : grader::predicted_runs(folder)) {
      ++number;
      const std::string name =
          folder.filename().string().substr(0, 2) + "." + std::to_string(number);
      const std::string where = "README.md:" + std::to_string(predicted.run.line) + ": ";
      const std::string command = "./lab predict " + name;
      const auto at = predicted.run.before.find(command);
      const auto after = at + command.size();
      const bool named =
          at != std::string::npos &&
          (after >= predicted.run.before.size() || std::isdigit(predicted.run.before[after]) == 0);
      if (!named) complaints.push_back(where + "the paragraph before does not say " + command);
      try {
        grader::value_in(predicted.prediction, predicted.run.expected);
      } catch (const Error& error) {
        complaints.push_back(where + error.what());
      }
    }
  } catch (const UsageError& error) {
    complaints.push_back(error.what());
  }
  return complaints;
}

const std::string ticks = "```";

// A lesson with one run that prints `output`.
std::vector<std::string> complaints_about(const std::string& before, const std::string& output,
                                          const std::string& predict) {
  const test::Scratch scratch;
  const fs::path folder = scratch.path() / "07_made_up";
  grader::write_text(folder / "README.md", "# Made up\n\n" + before + "\n\n" + ticks +
                                               "sh run\n./lab\n" + ticks + "\n\n" + ticks +
                                               "text\n" + output + ticks + "\n");
  grader::write_text(folder / "predict.toml", predict);
  return what_does_not_fit(folder);
}

const std::string asks_count =
    "[[run]]\nquestion = \"q\"\nwhy = \"w\"\nnumber = '''sent (\\d+)'''\n";
const std::string asks_which =
    "[[run]]\nquestion = \"q\"\nwhy = \"w\"\n[[run.choice]]\nsays = \"all\"\nseen = 'sent 4'\n"
    "[[run.choice]]\nsays = \"none\"\nseen = 'sent'\n";

}  // namespace

TEST_CASE("the lessons: every run has its prediction, and the output that is shown answers it") {
  for (const auto& entry : fs::directory_iterator(fs::path(LOCKSTEP_ROOT) / "lessons")) {
    if (!entry.is_directory()) continue;
    for (const std::string& complaint : what_does_not_fit(entry.path())) {
      FAIL_CHECK(fs::relative(entry.path(), LOCKSTEP_ROOT).string() << ": " << complaint);
    }
  }
}

TEST_CASE("the lessons: a prediction that does not fit its run is seen") {
  const auto complaints = [](const std::string& before, const std::string& output,
                             const std::string& predict) {
    const auto all = complaints_about(before, output, predict);
    CHECK(all.size() <= 1);
    return all.empty() ? std::string() : all.front();
  };
  const std::string asks = "**Predict** (`./lab predict 07.1`): how many?";
  CHECK(complaints(asks, "sent 4\n", asks_count).empty());
  CHECK(complaints(asks, "sent 5\n", asks_which).empty());
  CHECK_THAT(complaints("How many?", "sent 4\n", asks_count), test::contains("README.md:5"));
  CHECK_THAT(complaints("`./lab predict 07.11`", "sent 4\n", asks_count), test::contains("07.1"));
  CHECK_THAT(complaints(asks, "sent …\n", asks_count), test::contains("no number"));
  CHECK_THAT(complaints(asks, "sent 4\n", asks_which), test::contains("several"));
  CHECK_THAT(complaints(asks, "4\n", asks_which), test::contains("none"));
  CHECK_THAT(complaints(asks, "sent 4\n", asks_count + asks_count), test::contains("2 [[run]]"));
  CHECK_THAT(complaints(asks, "sent 4\n", asks_count + "uint = 1\n"),
             test::contains(":5: ") && test::contains("unit?"));
}
