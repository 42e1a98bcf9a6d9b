// A quiz as its authors write it, in one file: solutions/NN_lesson/quiz.toml. Students get a copy
// that ends each question with its answer's line, emptied; everything below that line judges.
//
//   about = "collectives"          what the students' copy calls the lesson
//   [[question]]
//   id = "steps"
//   title = "how long a ring takes"
//   type = "number"                choice, order, number or formula
//   text = """…"""
//   options = ["a  …", "b  …"]     of a choice or an order; each begins with its letter
//   answer = "7"   # a number      a right answer; students see the comment
//
//   choice   [question.wrong] has a reason for every other letter: a = "…"
//   order    edge: { before, after, because }; any order that respects all edges is right
//   number   otherwise, the reason for an unknown wrong number. Optional: tolerance (relative);
//            counts, the word that may follow the number; value, where the answer is rounded; unit,
//            where the answer's unit of bytes is another than that of value and of the mistakes;
//            [[question.mistake]] with value and because
//   formula  variables, the range of each; otherwise. Optional: measured_at, points where the judge
//            counts; also, other right formulas; [[question.mistake]] with formula and because
//
// A proof tries answers that are derived from these (quiz/answers.hpp): nothing is written twice.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::grader {

// The rules by which each question is judged, in the form of quiz/rules.hpp, with its `answer` and,
// for a formula, `also`: {"question": [...]}.
//   Throws  Error, one sentence with file and line, when the file is not as above: a question that
//           is there twice, a wrong answer without a reason, a reason for a letter that is no
//           option, an answer that its own rules reject or that one of its mistakes equals
nlohmann::json quiz_rules(const std::filesystem::path& file);

// The file as students get it.
//   Throws  Error as above, but for what only judging shows
std::string quiz_for_students(const std::filesystem::path& file);

// The same with the right answers.
std::string answered_quiz(const std::filesystem::path& file);

}  // namespace lockstep::grader
