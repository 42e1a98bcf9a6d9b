// One question of a quiz's file (quiz/file.hpp): its keys, and the rules that judge it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::grader {

// A table of read_toml_with_lines, and where it stands. Every failure is one sentence with file and
// line.
class QuizTable {
 public:
  QuizTable(std::string file, const nlohmann::json& table);

  bool has(const char* key) const { return table_.contains(key); }
  int line(const std::string& key) const;  // of the table itself where it lacks the key
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

  // The entry that must be there, of that type and not empty.
  const nlohmann::json& entry(const char* key) const;
  std::string words(const char* key) const;
  double number(const char* key) const;
  QuizTable table(const char* key) const;
  std::vector<QuizTable> tables(const char* key) const;  // none where the key is missing
  std::vector<std::string> keys() const;
  void refuse_other_keys(const std::vector<std::string>& known) const;

 private:
  std::string file_;
  const nlohmann::json& table_;
};

// The rules that judge the question, in the form of quiz/rules.hpp.
//   Throws  Error when a key is missing, unknown or of another form; when the answer's line does
//           not part what students see from what they do not
nlohmann::json rules_of_question(const QuizTable& question);

}  // namespace lockstep::grader
