// The questions of a quiz as a person is asked them, and answers written into its file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grader {

struct Question {
  std::string id, title, type, text;
  std::vector<std::string> options;  // "a  the weights"; for choice and order
  std::string answer;                // empty: none yet
  std::string expects;               // "one letter", "a number and its unit: …"
};

//   Throws  UsageError when the file is missing, or no TOML, or a question lacks its text
std::vector<Question> questions_of(const std::filesystem::path& file);

// The file's text with that answer to the question `id`; everything else stays as it is. A pure
// function.
//   Throws  UsageError when there is no such question, or no line `answer = "…"` in it
std::string with_answer(const std::string& file, const std::string& id, const std::string& answer);

}  // namespace lockstep::grader
