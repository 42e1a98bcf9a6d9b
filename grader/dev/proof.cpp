#include "grader/dev/proof.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "grader/course/proofs/mutants.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/battery.hpp"
#include "grader/dev/contract_rows.hpp"
#include "grader/dev/exercise_cost.hpp"
#include "grader/dev/quiz_proof.hpp"
#include "grader/dev/version_players.hpp"
#include "grader/lab/grade.hpp"
#include "grader/memory/trial.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

std::string with_throws_replaced(std::string stub, const std::string& instead) {
  for (std::size_t at; (at = stub.find("throw NotImplemented(")) != std::string::npos;) {
    stub.replace(at, stub.find(';', at) + 1 - at, instead);
  }
  return stub;
}

Mark mark_of(const CheckReport& check) {
  if (check.skipped) return Mark::not_asked;
  return check.verdict == Verdict::pass ? Mark::holds : Mark::fails;
}

class Prover {
 public:
  Prover(const Lab& lab, const Exercise& exercise, std::function<void()> judged)
      : lab_(lab), exercise_(exercise), judged_(std::move(judged)) {
    scratch_ = lab.places.build / "proof" / exercise.address();
    options_.limits = lab.limits;
  }

  Proof prove() {
    proof_.kills.handle = exercise_.handle();
    const double before_s = processor_seconds_used();
    write_files();
    proof_.compiling_s = processor_seconds_used() - before_s;
    expect("the stub", lab_.places.stub(exercise_), "unsolved", "");
    options_.weighs = true;
    expect("the reference", lab_.places.solution(exercise_), "pass", "");
    options_.weighs = false;
    for (const CheckReport& check : report_.checks) proof_.kills.checks.push_back(check.name);
    look_at_what_is_asked();
    options_.battery = Battery::kills;
    reject_nothing_done();
    int mutants = 0;
    for (const Mutant& mutant : mutants_) mutants += reject(mutant);
    for (const fs::path& file : alternatives_) {
      if (expect("alternative " + file.filename().string(), file, "pass", "") == 0) continue;
      proof_.kills.alternatives.push_back(file.stem().string());
    }
    if (mutants_.size() < 3) complain("fewer than three mutants");
    if (alternatives_.empty()) complain("no alternative");
    if (!lab_.sanitized) need_kills();
    proof_.summary += text(
        exercise_.handle(), ": ", counted(mutants, "mutant"), " rejected for the stated reason, ",
        counted(std::ssize(proof_.kills.alternatives), "alternative"), " accepted\n");
    return proof_;
  }

 private:
  // Everything that is judged, so that it can be compiled together.
  void write_files() {
    const fs::path folder = lab_.places.root / "tests" / "exercises" / exercise_.address();
    alternatives_ = files_below(folder / "alternatives");
    MutantList list = read_mutants(folder / "mutants.toml");
    for (const std::string& problem : list.problems) complain(problem);
    const std::string reference = read_text(lab_.places.solution(exercise_));
    std::vector<fs::path> files{lab_.places.stub(exercise_)};
    for (Mutant& mutant : list.mutants) {
      try {
        write_text(file_of(mutant.name), mutated(reference, mutant));
      } catch (const UsageError& misfit) {
        complain(misfit.what());
        continue;
      }
      files.push_back(file_of(mutant.name));
      mutants_.push_back(std::move(mutant));
    }
    files.insert(files.end(), alternatives_.begin(), alternatives_.end());
    const std::string stub = read_text(lab_.places.stub(exercise_));
    nothing_done_ = {"return {};", "return;"};
    if (stub.find("\nvoid ") != std::string::npos) std::ranges::reverse(nothing_done_);
    write_text(file_of("nothing-done"), with_throws_replaced(stub, nothing_done_.front()));
    files.push_back(file_of("nothing-done"));
    // Another proof of the same exercise may run at the same time.
    players_.emplace(lab_, exercise_, scratch_ / text("units-", ::getpid()));
    players_->compile(files);
  }

  fs::path file_of(const std::string& name) const { return scratch_ / name / exercise_.file(); }

  // report_ is of the reference.
  void look_at_what_is_asked() {
    for (const std::string& hole : holes_of_battery(exercise_, report_)) complain(hole);
    proof_.kills.situations = situation_rows(exercise_, report_);
    ContractRows contract = contract_rows(lab_, exercise_, report_);
    for (const std::string& hole : contract.holes) complain(hole);
    proof_.kills.sentences = std::move(contract.rows);
  }

  // A check that no wrong answer fails proves nothing.
  void need_kills() {
    const ExerciseKills& kills = proof_.kills;
    for (std::size_t check = 0; check < kills.checks.size(); ++check) {
      if (kills.kills_of(check) > 0 || is_killed_alone(check)) continue;
      complain("no mutant fails the check \"" + kills.checks[check] + "\"");
    }
  }

  // True if a mutant fails the check when it is compiled as a student's file is. Among others, it
  // may read what they left in memory.
  bool is_killed_alone(std::size_t check) {
    return std::ranges::any_of(proof_.kills.mutants, [&](MutantRow& row) {
      judge_alone(file_of(row.name));
      row = row_of(row.name);
      return row.marks[check] == Mark::fails;
    });
  }

  void complain(const std::string& what) {
    proof_.holds = false;
    proof_.summary += exercise_.handle() + ": " + what + "\n";
  }

  // The laziest answer, made from the stub: every function returns at once, with nothing.
  void reject_nothing_done() {
    const std::string stub = read_text(lab_.places.stub(exercise_));
    for (const char* instead : nothing_done_) {
      const std::string name = instead == nothing_done_.front() ? "nothing-done" : "nothing-else";
      write_text(file_of(name), with_throws_replaced(stub, instead));
      judge(file_of(name));
      if (report_.verdict == Verdict::compile_error) continue;
      if (report_.verdict == Verdict::pass) complain("an empty body passes");
      for (const CheckReport& check : report_.checks) {
        proof_.kills.nothing_done.push_back(mark_of(check));
      }
      return;
    }
  }

  int reject(const Mutant& mutant) {
    const std::string& reason = mutant.likely.empty() ? mutant.says : mutant.likely;
    const int held = expect("mutant " + mutant.name, file_of(mutant.name), mutant.verdict, reason);
    proof_.kills.mutants.push_back(row_of(mutant.name));
    if (exercise_.mistakes && !mutant.likely.empty()) need_first_check_twice(mutant);
    return held;
  }

  // The judge compares an answer with the mutants that fail the same check first.
  void need_first_check(const Mutant& mutant) {
    const auto first = std::ranges::find(report_.checks, Mark::fails, mark_of);
    if (first == report_.checks.end()) return;
    if (!mutant.first.empty() && first->name.starts_with(mutant.first)) return;
    complain(text("mutant ", mutant.name, " fails first the check \"", first->name,
                  "\"; write so in ", mutant.edits.front().where, ": first = \"",
                  first->name.substr(0, 30), "\""));
  }

  // Cases are drawn, and a student's are others: a mutant gets its sentence with two seeds.
  void need_first_check_twice(const Mutant& mutant) {
    need_first_check(mutant);
    const JudgeOptions usual = options_;
    options_.seed = usual.seed + 1;
    options_.battery = Battery::brief;
    expect(text("mutant ", mutant.name, ", with --seed ", options_.seed, ","), file_of(mutant.name),
           mutant.verdict, mutant.likely);
    need_first_check(mutant);
    options_ = usual;
  }

  MutantRow row_of(const std::string& mutant) const {
    MutantRow row{mutant, std::string(name_of(report_.verdict)), report_.cause, {}};
    row.marks.assign(proof_.kills.checks.size(), Mark::not_asked);
    if (report_.checks.size() == row.marks.size()) {  // else it was not even built
      std::ranges::transform(report_.checks, row.marks.begin(), mark_of);
    }
    return row;
  }

  // 1 when the file is judged so and the reason, where one is asked for, is among what was said.
  int expect(const std::string& name, const fs::path& file, const std::string& verdict,
             const std::string& says) {
    judge(file);
    std::string wrong = wrong_with(verdict, says);
    if (!wrong.empty() && together_) {
      judge_alone(file);
      wrong = wrong_with(verdict, says);
    }
    if (!wrong.empty()) complain(name + wrong);
    return wrong.empty() ? 1 : 0;
  }

  // Says what in the report is not as it must be; "" if all is.
  std::string wrong_with(const std::string& verdict, const std::string& says) const {
    const std::string seen(name_of(report_.verdict));
    if (seen != verdict) {
      return text(" gets the verdict '", seen, "', not '", verdict, "': ", report_.message);
    }
    if (what_a_student_reads().find(says) == std::string::npos) {
      return text(" is rejected, but not for the stated reason '", says, "': ", report_.message);
    }
    if (verdict == "pass" && report_.points != exercise_.points) {
      return text(" passes with ", report_.points, " of ", exercise_.points, " points");
    }
    return "";
  }

  void judge(const fs::path& file) {
    std::optional<StudentBuild> shared;
    if (players_) shared = players_->player_of(file);
    together_ = shared && shared->cause.empty();
    if (together_) {
      judge_build(file, *shared);
    } else if (players_ && file == lab_.places.solution(exercise_)) {
      judge_build(file, players_->reference());
    } else {
      judge_alone(file);
    }
    // A hint is chosen by the cause, and what a mutant says tells nothing of it.
    for (const CheckReport& check : report_.checks) {
      if (check.cause == "no_cause")
        complain(text(file, " fails \"", check.name, "\" without a cause"));
    }
    judged_();
  }

  void judge_build(const fs::path& file, const StudentBuild& build) {
    report_ = grade_build(lab_, exercise_, file, build, options_).report;
  }

  // As a student's file is.
  void judge_alone(const fs::path& file) {
    report_ = grade_file(lab_, exercise_, file, options_).report;
  }

  // Without what only the whole battery comes to.
  std::string what_a_student_reads() const {
    std::string said = report_.cause + "\n" + report_.message;
    for (const CheckReport& check : report_.checks) {
      said += "\n" + check.message;
      const bool goes_on = check.verdict == Verdict::pass || check.verdict == Verdict::efficiency;
      if (!goes_on) break;
    }
    return said;
  }

  const Lab& lab_;
  const Exercise& exercise_;
  std::function<void()> judged_;
  fs::path scratch_;
  std::vector<Mutant> mutants_;  // those that fit the reference
  std::vector<fs::path> alternatives_;
  std::vector<const char*> nothing_done_;  // what a body that does nothing is, the likelier first
  std::optional<VersionPlayers> players_;
  JudgeOptions options_;
  Report report_;          // of the file judged last
  bool together_ = false;  // whether it was compiled with others
  Proof proof_;
};

}  // namespace

Proof prove_exercise(const Lab& lab, const Exercise& exercise, std::function<void()> judged) {
  return exercise.kind == Kind::quiz ? prove_quiz(lab, exercise, judged)
                                     : Prover(lab, exercise, std::move(judged)).prove();
}

}  // namespace lockstep::grader
