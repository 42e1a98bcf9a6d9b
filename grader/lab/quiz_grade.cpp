#include "grader/lab/quiz_grade.hpp"

#include "engine/base/text.hpp"
#include "grader/course/quiz/quiz.hpp"
#include "grader/lab/measure.hpp"

namespace lockstep::grader {
namespace {

Verdict verdict_of(Answered state) {
  if (state == Answered::right) return Verdict::pass;
  return state == Answered::open ? Verdict::unsolved : Verdict::wrong_answer;
}

}  // namespace

Report grade_quiz(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source,
                  std::uint64_t seed, const QuizReader* reader) {
  QuizRules rules;
  rules.seed = seed;
  rules.reader = reader;
  // A confined reader reads a copy: the student knows the file by its place in work/.
  rules.shown = lab.places.shown(reader == nullptr ? source : lab.places.work(exercise));
  rules.measured = [&](const std::string& question, const Point& point) {
    return measured_for_quiz(lab, question, point);
  };
  const auto answers = grade_answers(source, lab.places.quiz_key(exercise), rules);
  Report report;
  report.max_points = exercise.points;
  int right = 0, wrong = 0;
  for (const AnswerReport& answer : answers) {
    CheckReport check;
    check.name = answer.id + ": " + answer.title;
    check.verdict = verdict_of(answer.state);
    check.seen = answer.given;
    check.message = answer.state == Answered::open ? "no answer yet" : answer.reason;
    right += answer.state == Answered::right;
    wrong += answer.state == Answered::wrong;
    report.checks.push_back(std::move(check));
  }
  const int questions = static_cast<int>(answers.size());
  report.points = exercise.points * right / questions;
  report.message = text(right, " of ", questions, " right, ", wrong, " wrong, ",
                        questions - right - wrong, " without an answer");
  report.verdict = right == questions ? Verdict::pass
                   : wrong > 0        ? Verdict::wrong_answer
                                      : Verdict::unsolved;
  report.cause = wrong > 0 ? "wrong_answers" : right == questions ? "" : "open_questions";
  return report;
}

}  // namespace lockstep::grader
