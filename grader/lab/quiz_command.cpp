// ./lab quiz: the questions of a lesson, one by one. Answers go into the file of work/ that
// ./lab check judges, as they are given.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/measure.hpp"
#include "grader/lab/quiz_talk.hpp"
#include "grader/lab/report.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

Options quiz_options() {
  Options options("./lab quiz", "Asks a lesson's questions and judges each answer at once.");
  options.words("[NN]", "the lesson (default: the first with an unsolved quiz)")
      .flag("json", "print the questions and your answers as one JSON document");
  return options;
}

const Exercise& quiz_named(const Lab& lab, const Words& words) {
  if (words.size() > 1) throw UsageError("name one lesson: ./lab quiz 06");
  const Progress progress = read_progress(lab.places.progress());
  const Exercise* last = nullptr;
  std::vector<const Exercise*> among;
  for (const Exercise& exercise : lab.course.exercises) among.push_back(&exercise);
  if (!words.empty()) among = exercises_named(lab.course, words.front());
  for (const Exercise* exercise : among) {
    if (exercise->kind != Kind::quiz) continue;
    last = exercise;
    if (!words.empty() || state_of(lab, *exercise, progress) != State::solved) return *exercise;
  }
  if (last == nullptr) throw UsageError(words.front() + " has no quiz; ./lab quiz 01 asks one");
  return *last;
}

QuizRules rules_of(const Lab& lab) {
  QuizRules rules;
  rules.measured = [&lab](const std::string& question, const Point& point) {
    return measured_for_quiz(lab, question, point);
  };
  return rules;
}

std::vector<Answered> states_of(const Lab& lab, const Exercise& quiz) {
  std::vector<Answered> states;
  for (const AnswerReport& report :
       grade_answers(lab.places.work(quiz), lab.places.quiz_key(quiz), rules_of(lab))) {
    states.push_back(report.state);
  }
  return states;
}

AnswerReport judged(const Lab& lab, const Exercise& quiz, const Question& question,
                    const std::string& answer) {
  const auto file = lab.places.work(quiz);
  write_text(file, with_answer(read_text(file), question.id, answer));
  QuizRules rules = rules_of(lab);
  rules.only = question.id;
  return grade_answers(file, lab.places.quiz_key(quiz), rules).front();
}

void talk(const Lab& lab, const Exercise& quiz) {
  QuizTalk conversation(
      questions_of(lab.places.work(quiz)), states_of(lab, quiz),
      [&](const Question& question, const std::string& answer) {
        return judged(lab, quiz, question, answer);
      },
      lab.paint);
  std::cout << wrapped(
      "Enter goes to the next question, back to the previous one, ? says how to answer, quit "
      "ends; your answers are saved in work/" +
          quiz.file() + ".\n",
      lab.columns);
  while (!conversation.over()) {
    if (!conversation.tries_again()) std::cout << reflowed(conversation.asked(), lab.columns);
    std::cout << "> " << std::flush;
    std::string line;
    if (!std::getline(std::cin, line)) break;
    std::cout << wrapped(conversation.heard(line), lab.columns);
  }
  std::cout << "\n";
}

std::string all_questions(const Lab& lab, const Exercise& quiz) {
  const auto questions = questions_of(lab.places.work(quiz));
  std::string out;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    out += question_text(questions[i], i + 1, questions.size(), lab.paint);
    if (!questions[i].answer.empty()) out += text("\n  your answer: ", questions[i].answer, "\n");
    out += "\n";
  }
  return out + text("Write your answers in work/", quiz.file(), ", then run ./lab check ",
                    quiz.handle(), "; in a terminal, ./lab quiz asks them one by one.\n");
}

nlohmann::json questions_json(const Lab& lab, const Exercise& quiz) {
  auto list = nlohmann::json::array();
  for (const Question& question : questions_of(lab.places.work(quiz))) {
    list.push_back({{"id", question.id},
                    {"title", question.title},
                    {"type", question.type},
                    {"text", question.text},
                    {"options", question.options},
                    {"expects", question.expects},
                    {"answer", question.answer}});
  }
  return {{"quiz", quiz.handle()}, {"file", "work/" + quiz.file()}, {"questions", list}};
}

}  // namespace

Exit quiz_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(quiz_options(), words);
  if (arguments.asks_help()) return print_help(quiz_options());
  const Exercise& quiz = quiz_named(lab, arguments.words());
  ensure_file(lab, quiz);
  if (arguments.flag("json")) {
    std::cout << write_json(questions_json(lab, quiz), 2) << "\n";
    return Exit::passed;
  }
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) {
    std::cout << all_questions(lab, quiz);
    return Exit::passed;
  }
  talk(lab, quiz);
  const Grade grade = grade_file(lab, quiz, lab.places.work(quiz), {});
  note_standing(lab, quiz, grade.report);
  std::cout << wrapped(words_of(grade, lab, quiz, Times::hidden), lab.columns);
  return grade.report.verdict == Verdict::pass ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
