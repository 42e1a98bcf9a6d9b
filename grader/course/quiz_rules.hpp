// The rule of each type of question: the reason why an answer is wrong, or nothing when it is
// right.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "engine/base/error.hpp"
#include "grader/course/quiz.hpp"

namespace lockstep::grader {

using Reason = std::optional<std::string>;

Reason judge_choice(const nlohmann::json& key, const std::string& answer);
Reason judge_order(const nlohmann::json& key, const std::string& answer);
Reason judge_number(const nlohmann::json& key, const std::string& answer);
Reason judge_formula(const nlohmann::json& key, const std::string& answer, const QuizRules& rules,
                     const QuizReader& reader);

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
