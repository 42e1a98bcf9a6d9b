// A quiz as a conversation: what is asked, and what comes of what is typed. It knows no terminal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grader/course/compile/student_build.hpp"
#include "grader/course/quiz/questions.hpp"
#include "grader/course/quiz/quiz.hpp"

namespace lockstep::grader {

class QuizTalk {
 public:
  // Saves an answer and judges it.
  using Judge = std::function<AnswerReport(const Question& question, const std::string& answer)>;

  // Begins at the first question that is not right. `states` are those of the questions.
  QuizTalk(std::vector<Question> questions, std::vector<Answered> states, Judge judge, Paint paint);

  // The question at hand and how it is answered; empty when the talk is over.
  std::string asked() const;

  // Takes a line: an answer, "" for the next question, "back" for the one before, "quit", "?" for
  // what can be typed. A right answer goes on, a wrong one is answered with its reason and can be
  // given again. What names no option of the question is neither judged nor saved.
  //   Returns  what is said to it
  std::string heard(const std::string& line);

  // True if the last line was no right answer. The question stands above, and is not asked anew.
  bool tries_again() const { return tries_again_; }
  bool over() const { return at_ >= questions_.size(); }

 private:
  std::vector<Question> questions_;
  std::vector<Answered> states_;
  Judge judge_;
  Paint paint_;
  std::size_t at_ = 0;
  bool tries_again_ = false;
};

// A question with its options and the answer it has, without how to answer.
std::string question_text(const Question& question, std::size_t number, std::size_t count,
                          Paint paint);

}  // namespace lockstep::grader
