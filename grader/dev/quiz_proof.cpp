#include "grader/dev/quiz_proof.hpp"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/units.hpp"
#include "grader/course/quiz/answers.hpp"
#include "grader/course/quiz/file.hpp"
#include "grader/course/quiz/questions.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/grade.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

class QuizProver {
 public:
  QuizProver(const Lab& lab, const Exercise& quiz, const std::function<void()>& judged)
      : lab_(lab),
        quiz_(quiz),
        judged_(judged),
        answered_(reference_answer(lab.places, quiz)),
        unmeasured_(answered_),
        file_(lab.places.build / "proof" / quiz.address() / text(::getpid(), ".toml")) {}

  ~QuizProver() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  QuizProver(const QuizProver&) = delete;
  QuizProver& operator=(const QuizProver&) = delete;

  Proof prove() {
    const json rules = quiz_rules(lab_.places.solution(quiz_));
    const json& questions = rules.at("question");
    for (const json& question : questions) {
      if (question.contains("measured_at")) {
        unmeasured_ = with_answer(unmeasured_, question.at("id"), "");
      }
    }
    proof_.kills.handle = quiz_.handle();
    judge(pristine(lab_.places, quiz_));
    if (report_.verdict != Verdict::unsolved) complain("the quiz without answers is not unsolved");
    accept("the right answers", answered_);
    for (const CheckReport& check : report_.checks) proof_.kills.checks.push_back(check.name);
    for (std::size_t i = 0; i < questions.size(); ++i) reject_wrong(questions[i], i);
    accept_other_right(questions);
    proof_.summary += text(quiz_.handle(), ": ", counted(rejected_, "wrong answer"),
                           " rejected for the stated reason, ",
                           counted(accepted_, "other spelling"), " accepted\n");
    return proof_;
  }

 private:
  void complain(const std::string& what) {
    proof_.holds = false;
    proof_.summary += quiz_.handle() + ": " + what + "\n";
  }

  void judge(const std::string& content) {
    write_text(file_, content);
    report_ = grade_file(lab_, quiz_, file_, {}).report;
    judged_();
  }

  bool accept(const std::string& what, const std::string& content) {
    judge(content);
    if (report_.verdict == Verdict::pass && report_.points == quiz_.points) return true;
    complain(text(what, " earn ", report_.points, " of ", quiz_.points, " points: ", reasons()));
    return false;
  }

  std::string reasons() const {
    std::string all;
    for (const CheckReport& check : report_.checks) {
      if (check.verdict != Verdict::wrong_answer) continue;
      all += text(all.empty() ? "" : "; ", check.name, ", \"", check.seen, "\": ", check.message);
    }
    return all;
  }

  void reject_wrong(const json& question, std::size_t at) {
    const std::string id = question.at("id");
    const std::string& others = question.contains("measured_at") ? answered_ : unmeasured_;
    int number = 0;
    for (const WrongAnswer& wrong : wrong_answers(question)) {
      judge(with_answer(others, id, wrong.answer));
      MutantRow row{
          text(id, "_", ++number), std::string(name_of(report_.verdict)), report_.cause, {}};
      for (const CheckReport& check : report_.checks) {
        row.marks.push_back(check.verdict == Verdict::wrong_answer ? Mark::fails : Mark::holds);
      }
      const bool alone =
          std::ranges::count(row.marks, Mark::fails) == 1 && row.marks.at(at) == Mark::fails;
      const bool says = report_.checks.at(at).message.find(wrong.says) != std::string::npos;
      if (alone && says) {
        ++rejected_;
      } else {
        complain(text("the answer \"", wrong.answer, "\" to ", id, " should be told: ", wrong.says,
                      "\n  It is told: ", reasons()));
      }
      proof_.kills.mutants.push_back(std::move(row));
    }
  }

  // The first other answers to all questions in one file, the second in another, and so on.
  void accept_other_right(const json& questions) {
    for (std::size_t turn = 0; turn == 0 || !proof_.kills.alternatives.empty(); ++turn) {
      std::string content = answered_;
      int changed = 0;
      for (const json& question : questions) {
        const auto others = other_right_answers(question);
        if (turn >= others.size()) continue;
        content = with_answer(content, question.at("id"), others[turn]);
        ++changed;
      }
      if (changed == 0) return;
      const std::string name = text("other_spellings_", turn + 1);
      if (!accept(name, content)) return;
      accepted_ += changed;
      proof_.kills.alternatives.push_back(name);
    }
  }

  const Lab& lab_;
  const Exercise& quiz_;
  const std::function<void()>& judged_;
  const std::string answered_;
  std::string unmeasured_;  // the same without questions whose answers take a run to judge
  const std::filesystem::path file_;
  Report report_;  // of the file judged last
  int rejected_ = 0, accepted_ = 0;
  Proof proof_;
};

}  // namespace

Proof prove_quiz(const Lab& lab, const Exercise& quiz, const std::function<void()>& judged) {
  return QuizProver(lab, quiz, judged).prove();
}

}  // namespace lockstep::grader
