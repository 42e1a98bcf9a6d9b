#include "grader/lab/quiz_talk.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/text.hpp"
#include "grader/course/quiz/rules.hpp"
#include "grader/lab/paint.hpp"

namespace lockstep::grader {

std::string question_text(const Question& question, std::size_t number, std::size_t count,
                          Paint paint) {
  std::string out = text(bold(paint, text(number, " of ", count, "  ", question.title)), "\n\n");
  out += question.text.substr(question.text.find_first_not_of('\n'));
  if (out.back() != '\n') out += '\n';
  if (!question.options.empty()) out += '\n';
  for (const std::string& option : question.options) out += "    " + option + "\n";
  return out;
}

namespace {

// The letters of the options, in order; "" for a question without options.
std::string letters_of_options(const Question& question) {
  std::string letters;
  for (const std::string& option : question.options) letters += letters_of(option.substr(0, 1));
  return letters;
}

// "a, b, c or d"
std::string alternatives(const std::string& letters) {
  std::string out;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    out += text(i == 0 ? "" : i + 1 == letters.size() ? " or " : ", ", letters[i]);
  }
  return out;
}

// "Answer with one letter: a, b, c or d."
std::string how_to_answer(const Question& question) {
  const std::string letters = letters_of_options(question);
  std::string out = "Answer with " + (question.expects.empty() ? "one line" : question.expects);
  if (question.type == "choice" && !letters.empty()) out += ": " + alternatives(letters);
  if (question.type == "order" && !letters.empty()) {
    out += text("; each of ", letters.front(), " to ", letters.back(), " once");
  }
  return out + ".";
}

// True if a choice names an option, and an order names each once. No key is needed to tell.
bool names_options(const Question& question, const std::string& answer) {
  const std::string letters = letters_of_options(question), given = letters_of(answer);
  if (letters.empty()) return true;
  if (question.type == "choice") return given.size() == 1 && letters.find(given) != letters.npos;
  return question.type != "order" || std::ranges::is_permutation(given, letters);
}

}  // namespace

QuizTalk::QuizTalk(std::vector<Question> questions, std::vector<Answered> states, Judge judge,
                   Paint paint)
    : questions_(std::move(questions)),
      states_(std::move(states)),
      judge_(std::move(judge)),
      paint_(paint) {
  states_.resize(questions_.size(), Answered::open);
  const auto open = std::find_if(states_.begin(), states_.end(),
                                 [](Answered state) { return state != Answered::right; });
  at_ = static_cast<std::size_t>(open - states_.begin());
}

std::string QuizTalk::asked() const {
  if (over()) return "";
  const Question& question = questions_[at_];
  std::string out = "\n" + question_text(question, at_ + 1, questions_.size(), paint_);
  if (!question.answer.empty()) {
    const bool right = states_[at_] == Answered::right;
    out += text("\n  your answer so far: ", question.answer, right ? ", which is right" : "", "\n");
  }
  out += "\n" + faint(paint_, question.expects.empty() ? "an answer" : question.expects) + "\n";
  return out;
}

std::string QuizTalk::heard(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  const std::string answer = first == std::string::npos
                                 ? ""
                                 : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
  tries_again_ = false;
  if (over()) return "";
  if (answer.empty()) {
    ++at_;
    return "";
  }
  if (answer == "quit" || answer == "q") {
    at_ = questions_.size();
    return "";
  }
  if (answer == "back") {
    if (at_ == 0) return "this is the first question\n";
    --at_;
    return "";
  }
  Question& question = questions_[at_];
  if (answer == "?") {
    return how_to_answer(question) +
           " Or press Enter for the next question, or type back or quit.\n";
  }
  if (!names_options(question, answer)) {
    tries_again_ = true;
    return text("\"", answer, "\" is no answer to this question, and is not saved. ",
                how_to_answer(question), "\n");
  }
  const AnswerReport report = judge_(question, answer);
  question.answer = answer;
  states_[at_] = report.state;
  if (report.state == Answered::right) {
    ++at_;
    return green(paint_, "right") + "\n";
  }
  tries_again_ = true;
  return text(red(paint_, "not right"), report.reason.empty() ? "" : ": ", report.reason,
              "\nTry again, or press Enter to continue.\n");
}

}  // namespace lockstep::grader
