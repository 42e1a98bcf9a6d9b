// Hashed keys judge as the keys they were made of.
#include "grader/course/quiz/hashes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/text/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int few_rounds = 100;

std::string written(double value) {
  std::ostringstream out;
  out.precision(17);
  out << value;
  return out.str();
}

// Right, wrong in every known way, just inside and just outside of the tolerance, and unusable.
std::vector<std::string> answers_to(const json& key) {
  const std::string type = key.at("type");
  std::vector<std::string> answers{"", "x y", "7 apples", "1/0"};
  if (type == "choice") {
    for (char letter = 'a'; letter <= 'g'; ++letter) answers.push_back({letter});
  } else if (type == "order") {
    std::string steps = key.at("steps");
    for (int turn = 0; turn < 8; ++turn) {
      answers.push_back(steps);
      for (int i = 0; i < 1 + turn * 7; ++i) std::next_permutation(steps.begin(), steps.end());
    }
  } else if (type == "number") {
    const double tolerance = key.value("tolerance", 1e-9);
    const std::string unit = key.value("unit", ""), behind = unit.empty() ? "" : " " + unit;
    const double right = key.at("value");
    for (const double factor :
         {1.0, 1 + 0.99 * tolerance, 1 - 0.99 * tolerance, 1 + 1.01 * tolerance, -1.0, 0.0}) {
      answers.push_back(written(right * factor) + behind);
    }
    if (!unit.empty()) answers.push_back(written(right) + " PiB");
    if (!unit.empty()) answers.push_back(written(right) + " kB");
    for (const json& mistake : key.value("mistake", json::array())) {
      answers.push_back(written(mistake.at("value")) + behind);
    }
  } else {
    answers.push_back(key.at("formula"));
    answers.push_back("1*(" + key.at("formula").get<std::string>() + ")");
    // Wrong by more than either rule takes for rounding, at whichever points it is computed.
    answers.push_back("1.001*(" + key.at("formula").get<std::string>() + ")");
    for (const json& mistake : key.value("mistake", json::array())) {
      answers.push_back(mistake.at("formula"));
    }
  }
  return answers;
}

Reason judged_openly(const json& key, const std::string& answer) {
  const std::string type = key.at("type");
  if (type == "choice") return judge_choice(key, answer);
  if (type == "order") return judge_order(key, answer);
  if (type == "number") return judge_number(key, answer);
  return judge_formula(key, answer, {}, {});
}

// A formula's message names a point where it has no value, and the points differ.
std::string without_points(const Reason& reason) {
  if (!reason) return "right";
  return reason->substr(0, reason->find("\" has no value for "));
}

// The quizzes of the course, of which the first one is judged apart: a hash is slow on purpose.
enum class Which { first, others };
std::vector<fs::path> quizzes(Which which) {
  std::vector<fs::path> found;
  for (const auto& lesson : fs::directory_iterator(fs::path(LOCKSTEP_ROOT) / "solutions")) {
    const fs::path quiz = lesson.path() / "quiz.toml";
    const bool first = lesson.path().filename() == "01_why_distribute";
    if (fs::exists(quiz) && first == (which == Which::first)) found.push_back(quiz);
  }
  REQUIRE_FALSE(found.empty());
  return found;
}

// Returns how many answers a hashed key judged, each as its key does.
int judged_alike(const fs::path& quiz) {
  int compared = 0;
  const json open = quiz_rules(quiz), hashed = json::parse(hashed_key(quiz, few_rounds));
  REQUIRE(open.at("question").size() == hashed.at("question").size());
  for (std::size_t i = 0; i < open.at("question").size(); ++i) {
    const json& question = open.at("question")[i];
    for (const std::string& answer : answers_to(question)) {
      INFO(quiz.string() << ", " << question.at("id") << ": " << answer);
      const Reason reason = judge_hashed(hashed.at("question")[i], answer, {}, {});
      CHECK(without_points(reason) == without_points(judged_openly(question, answer)));
      ++compared;
    }
  }
  return compared;
}

void check_hidden(const fs::path& quiz) {
  const std::string hashed = hashed_key(quiz, few_rounds);
  CHECK_THAT(hashed, test::contains("small ones can be guessed"));
  const json open = quiz_rules(quiz);
  for (const json& question : open.at("question")) {
    INFO(quiz.string() << ", " << question.at("id"));
    for (const char* list : {"mistake", "edge"}) {
      for (const json& each : question.value(list, json::array())) {
        CHECK_THAT(hashed, !test::contains(each.at("because").get<std::string>()));
      }
    }
    if (question.contains("formula")) {
      CHECK_THAT(hashed, !test::contains(question.at("formula").get<std::string>() + "\""));
    }
  }
  CHECK_THAT(hashed, !test::contains("\"right\""));
  CHECK_THAT(hashed, !test::contains("\"value\""));
}

}  // namespace

TEST_CASE("hashed keys: judge a quiz as its key does") {
  CHECK(judged_alike(quizzes(Which::first).front()) > 50);
}

TEST_CASE("hashed keys: judge every other quiz of the course as its key does") {
  int compared = 0;
  for (const fs::path& quiz : quizzes(Which::others)) compared += judged_alike(quiz);
  CHECK(compared > 1000);
}

TEST_CASE("hashed keys: no reason and no answer can be read") {
  check_hidden(quizzes(Which::first).front());
}

TEST_CASE("hashed keys: no reason and no answer of any other quiz can be read") {
  for (const fs::path& quiz : quizzes(Which::others)) check_hidden(quiz);
}

TEST_CASE("hashed keys: two of one quiz have nothing in common but what is open") {
  const fs::path key = fs::path(LOCKSTEP_ROOT) / "solutions/01_why_distribute/quiz.toml";
  const json one = json::parse(hashed_key(key, few_rounds)),
             other = json::parse(hashed_key(key, few_rounds));
  for (std::size_t i = 0; i < one.at("question").size(); ++i) {
    CHECK(one.at("question")[i].at("salt") != other.at("question")[i].at("salt"));
  }
}

TEST_CASE("hashed keys: what is open of a number says nothing of its value") {
  const test::Scratch scratch;
  const auto open_of = [&](const std::string& value) {
    const fs::path file = scratch.path() / "quiz.toml";
    write_text(file,
               "about = \"x\"\n[[question]]\nid = \"q\"\ntitle = \"t\"\ntype = \"number\"\ntext = "
               "\"x\"\nanswer = \"" +
                   value + "\"\ntolerance = 0.002\notherwise = \"no\"\n");
    json question = json::parse(hashed_key(file, few_rounds)).at("question").at(0);
    question.erase("salt");
    const double step = question.at("step");
    CHECK((step <= 0.004 && step >= 0.001));
    question.erase("step");
    for (json& entry : question.at("values")) {
      for (const char* hidden : {"tag", "reason"}) {
        entry[hidden] = entry.at(hidden).get<std::string>().size();
      }
    }
    return question;
  };
  const json open = open_of("700");
  CHECK(open.at("values").size() == 6);
  for (const char* other : {"1", "0.37", "1.0000001", "-12", "6.25e17", "0"}) {
    INFO(other);
    CHECK(open_of(other) == open);
  }
}

TEST_CASE(
    "hashed keys: a reason is as long as every other one, and as the one of the right answer") {
  const fs::path key = fs::path(LOCKSTEP_ROOT) / "solutions/01_why_distribute/quiz.toml";
  std::set<std::size_t> lengths;
  const json hashed = json::parse(hashed_key(key, few_rounds));
  for (const json& question : hashed.at("question")) {
    for (const char* list : {"letters", "pairs", "values", "formulas"}) {
      for (const json& entry : question.value(list, json::array())) {
        lengths.insert(entry.at("reason").get<std::string>().size());
      }
    }
  }
  CHECK(lengths.size() == 1);
}

TEST_CASE("hashed keys: a number's cell belongs to a grid that is the same for every question") {
  CHECK(cell_of(0, 0.5) == "0");
  CHECK(cell_of(1e-13, 0.5) == "0");
  CHECK(cell_of(5, 0.5) == "+3");
  CHECK(cell_of(-5, 0.5) == "-3");
  CHECK(cell_of(0.9, 0.5) == "+-1");
  const auto [range, reason] = range_and_reason(with_range({7, 0.5}, "why"));
  CHECK(range.value == 7);
  CHECK(range.width == 0.5);
  CHECK(reason == "why");
}

TEST_CASE("hashed keys: values whose digits rounding could change are not hashed") {
  CHECK(digits_of({1, 2.5}) == "1.000000000e+00;2.500000000e+00;");
  CHECK(digits_of({1.0000000005}).empty());
  CHECK(digits_of({1.0 / 3}) == digits_of({(1 - 1e-15) / 3}));
  CHECK(digits_of({-0.0}) == digits_of({0.0}));
}
