// The rule of each type of question: the reason why an answer is wrong, or nothing when it is
// right.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "engine/base/error.hpp"
#include "grader/course/quiz/quiz.hpp"

namespace lockstep::grader {

using Reason = std::optional<std::string>;

Reason judge_choice(const nlohmann::json& key, const std::string& answer);
Reason judge_order(const nlohmann::json& key, const std::string& answer);
Reason judge_number(const nlohmann::json& key, const std::string& answer);
Reason judge_formula(const nlohmann::json& key, const std::string& answer, const QuizRules& rules,
                     const QuizReader& reader);

// "C, a;B" → "cab": the letters and nothing else, in lower case.
std::string letters_of(const std::string& answer);

// The order that is written there, or why it is none of all steps.
struct GivenOrder {
  std::string letters;
  Reason problem;
};
GivenOrder given_order(const nlohmann::json& key, const std::string& answer);
std::string misordered(const nlohmann::json& edge);  // the reason

// A number in the units of the key's bytes (or 1), and as it was typed.
struct GivenNumber {
  double value = 0, typed = 0;
  Reason problem;  // why there is none
};
GivenNumber given_number(const nlohmann::json& key, const std::string& answer);
double scale_of(const nlohmann::json& key);
std::string wrong_unit();  // the reason when only the digits agree
std::string wrong_letter(const std::string& answer);
bool in_bytes(const nlohmann::json& key);
double tolerance_of(const nlohmann::json& key);
constexpr double absolute_tolerance = 1e-12;

// A formula at the points that the judge measures, and at those drawn.
struct Said {
  std::vector<Point> measured, drawn;
  std::vector<double> at_measured, at_drawn;
  Reason problem;  // why it has no value somewhere
};
// Any formula of a quiz is a tenth of this; a longer one can keep the parser busy for seconds.
constexpr std::size_t formula_bytes_max = 1024;
Said said_by(const std::string& answer, const nlohmann::json& key, std::vector<Point> points,
             const QuizReader& reader);
// The reason if an answer differs from what the judge counts.
Reason differs_from_measured(const nlohmann::json& key, const Said& said, const QuizRules& rules);

// Whole numbers, as ranks and parameters are: each variable at point k lies in its range of the
// key.
Point drawn(const nlohmann::json& variables, std::uint64_t seed, int k);
constexpr int points_sampled = 12;

// A key that lacks something or has it in another form: the course's mistake, not the student's.
class BrokenKey : public Error {
 public:
  using Error::Error;
};

// A key's text, its number, and what else it has.
//   Throws  BrokenKey when it is missing or of another type
std::string key_text(const nlohmann::json& key, const char* name);
double key_number(const nlohmann::json& key, const char* name);
const nlohmann::json& key_entry(const nlohmann::json& key, const char* name);

}  // namespace lockstep::grader
