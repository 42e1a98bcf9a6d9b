#include "grader/judge/judge.hpp"

#include <algorithm>
#include <chrono>

#include "engine/base/error.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/known_mistakes.hpp"

namespace lockstep::grader {
namespace {

// Right but wasteful earns this part of the points, and so does what is mostly right (decision
// 0058).
constexpr int efficiency_percent = 60;
constexpr int mostly_right_percent = 40;

int points_for(Verdict verdict, int max_points) {
  if (verdict == Verdict::pass) return max_points;
  if (verdict == Verdict::efficiency) return max_points * efficiency_percent / 100;
  return 0;
}

// A case that fails only after those before it is played again by playing them all.
std::string replay_line(const std::string& exercise, const JudgeOptions& options,
                        const Failure& failure) {
  return text("./lab check ", exercise, options.replay_with.empty() ? "" : " ", options.replay_with,
              " --seed ", options.seed, failure.alone ? text(" --case ", text_of(failure.at)) : "");
}

bool holds(Verdict verdict) { return verdict == Verdict::pass || verdict == Verdict::efficiency; }

class Judgement {
 public:
  Judgement(const std::string& exercise, const DeclaredExam& exam, const std::string& player,
            const JudgeOptions& options)
      : exercise_(exercise),
        declared_(exam.cases),
        checks_(exam.checks()),
        player_(player),
        options_(options),
        runner_(exercise, {player}, options) {
    report_.exercise = exercise;
    report_.max_points = options.max_points;
    report_.verdict = Verdict::pass;
    report_.only_case = options.only_case;
    report_.seed = options.seed;
  }

  Report report() {
    if (checks_.size() < declared_.size()) {
      lab_failed("too_few_cases", text("the exam of ", exercise_, " has ", checks_.size(),
                                       " checks but declares ", declared_.size()));
    }
    for (std::size_t i = 0; i < checks_.size(); ++i) {
      CheckReport line;
      line.name = checks_[i].name;
      line.message = why_not(i);
      line.skipped = !line.message.empty();
      if (line.skipped) {
        uncounted_.push_back({i, std::nullopt});
      } else {
        run(i, line);
      }
      report_.checks.push_back(std::move(line));
    }
    runner_.end();
    if (options_.only_case && runner_.played() == 0) no_such_case();
    if (report_.verdict == Verdict::pass) show_output(runner_.printed().output);
    report_.inputs = runner_.inputs();
    if (options_.world == PlayerWorld::processes) {
      report_.aside = "values only, on real processes: no points";
    } else if (options_.only_case) {
      report_.aside = text("case ", text_of(*options_.only_case), " alone");
    }
    if (report_.verdict == Verdict::pass && report_.aside.empty()) report_.par = runner_.par();
    report_.points = points_for(report_.verdict, report_.max_points);
    if (mostly_right()) report_.points = report_.max_points * mostly_right_percent / 100;
    count_steps();
    if (!report_.aside.empty()) report_.points = 0;
    return std::move(report_);
  }

 private:
  // Three quarters of the checks hold, and each other one found a wrong result or builds on such a
  // check. Crashes, hangs, memory, and costs that are wrong otherwise than by waste, earn nothing.
  bool mostly_right() const {
    if (report_.verdict != Verdict::wrong_answer) return false;
    std::size_t passed = 0;
    std::vector<bool> held;  // whichever battery was run, what builds on a failed check is not
    for (std::size_t i = 0; i < checks_.size(); ++i) {
      const Verdict verdict = report_.checks[i].verdict;
      const auto needed = needed_by(i);
      const bool run = std::ranges::all_of(needed, [&](std::size_t one) { return held[one]; });
      const bool wrong = verdict == Verdict::wrong_answer && checks_[i].asks != Asks::cost;
      if (run && !wrong && !holds(verdict)) return false;
      passed += run && verdict == Verdict::pass;
      held.push_back(run && holds(verdict));
    }
    return 4 * passed >= 3 * checks_.size();
  }

  // The checks before check i that it builds on.
  std::vector<std::size_t> needed_by(std::size_t i) const {
    const auto& chosen = checks_[i].builds_on;
    std::vector<std::size_t> needed;
    for (std::size_t before = 0; before < i; ++before) {
      if (!chosen || std::ranges::count(*chosen, before) > 0) needed.push_back(before);
    }
    return needed;
  }

  // Counts the steps of a part that is judged in steps: what the steps earn that hold, and which
  // one is next.
  void count_steps() {
    const bool whole = report_.verdict == Verdict::pass;
    if (whole || report_.verdict == Verdict::infrastructure || report_.only_case) return;
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < checks_.size(); ++i) {
      if (checks_[i].begins) first.push_back(i);
    }
    int earned = 0;
    for (std::size_t step = 0; step < first.size(); ++step) {
      const std::size_t end = step + 1 < first.size() ? first[step + 1] : checks_.size();
      const auto worst = std::find_if(
          report_.checks.begin() + static_cast<std::ptrdiff_t>(first[step]),
          report_.checks.begin() + static_cast<std::ptrdiff_t>(end),
          [](const CheckReport& check) { return check.skipped || check.verdict != Verdict::pass; });
      const Step& asked = *checks_[first[step]].begins;
      if (worst == report_.checks.begin() + static_cast<std::ptrdiff_t>(end)) {
        ++report_.steps_held;
        earned += asked.percent;
        continue;
      }
      const std::string number = text(step + 1, " of ", first.size());
      report_.next_step = text("step ", number, " is next: ", asked.name);
      break;
    }
    if (report_.steps_held > 0) {
      report_.points = std::max(report_.points, report_.max_points * earned / 100);
    }
  }

  // Why check i says nothing after what was found; empty when it is to be run.
  std::string why_not(std::size_t i) const {
    const bool kills = options_.battery == Battery::kills && checks_[i].asks == Asks::values;
    if ((kills && !stopped_) || options_.battery == Battery::whole) return {};
    if (stopped_) return text("not run: ", *stopped_);
    if (options_.world == PlayerWorld::processes && checks_[i].asks != Asks::values) {
      return "not run: traffic is not measured, and no rank is lost, among real processes";
    }
    for (const std::size_t before : needed_by(i)) {
      const auto& line = report_.checks[before];
      if (line.skipped && !options_.only_case)
        return text("not run: it builds on '", line.name, "'");
      if (!holds(line.verdict))
        return text("not run: it builds on '", line.name, "', which failed");
    }
    return {};
  }

  // The cases of checks that were left out, or that failed half-way, have their numbers all the
  // same: a replay counts them.
  void count_what_was_left_out() {
    for (const auto& [check, began_at] : uncounted_) {
      runner_.count_from(began_at.value_or(runner_.place()), checks_[check].run);
    }
    uncounted_.clear();
  }

  void run(std::size_t i, CheckReport& line) {
    count_what_was_left_out();
    const CaseRunner::Place began_at = runner_.place();
    const int played_before = runner_.played();
    const auto start = std::chrono::steady_clock::now();
    auto failure = runner_.failure_of([&] { checks_[i].run(runner_); });
    line.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    line.cases = runner_.played() - played_before;
    line.situations = runner_.take_situations();
    const std::string repeated = runner_.take_repeated();
    if (!repeated.empty()) lab_failed("repeated", repeated);
    if (failure) {
      uncounted_.push_back({i, began_at});
      // A student reads the first failure; the mistake behind it is what is worth a search.
      std::optional<Cause> known;
      if (holds(report_.verdict)) {
        known = known_cause(exercise_, {player_}, options_, checks_[i], began_at, *failure);
      }
      if (known) failure = because_instead(*known, std::move(*failure));
      return note(*failure, line);
    }
    line.skipped = options_.only_case && line.cases == 0;
    if (line.skipped) line.message = "not run: the case belongs to another check";
    const int least = i < declared_.size() ? declared_[i] : 1;
    if (options_.only_case || line.cases >= least) return;
    line.verdict = Verdict::infrastructure;
    line.cause = "too_few_cases";
    line.message = text("the check '", line.name, "' of ", exercise_, " played ", line.cases,
                        line.cases == 1 ? " case" : " cases", " but declares ", least);
    lab_failed("too_few_cases", line.message);
  }

  void note(const Failure& failure, CheckReport& line) {
    runner_.note(failure);
    line.verdict = failure.verdict;
    line.cause = failure.cause.empty() ? "no_cause" : failure.cause;
    line.message = failure.message;
    line.expected = failure.expected;
    line.seen = failure.seen;
    line.where = failure.where;
    line.counters = failure.counters;
    line.origin = failure.origin;
    line.thrown_at = failure.thrown_at;
    line.replay = replay_line(exercise_, options_, failure);
    if (failure.verdict == Verdict::unsolved) stopped_ = "the part is not written yet";
    if (failure.verdict == Verdict::time) stopped_ = "an earlier case ran out of time";
    // Right but wasteful gives way to what is wrong.
    const bool first =
        report_.verdict == Verdict::pass ||
        (report_.verdict == Verdict::efficiency && failure.verdict != Verdict::efficiency);
    if (!first) return;
    report_.verdict = failure.verdict;
    report_.cause = line.cause;
    report_.message = failure.message;
    show_output(failure.output);
  }

  void show_output(const std::vector<std::string>& of_ranks) {
    report_.output.clear();
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      if (!of_ranks[rank].empty()) report_.output[static_cast<int>(rank)] = of_ranks[rank];
    }
  }

  // Only where nothing of the student's has failed: that is said first.
  void lab_failed(const std::string& cause, const std::string& why) {
    if (!holds(report_.verdict)) return;
    report_.verdict = Verdict::infrastructure;
    report_.cause = cause;
    report_.message = why;
  }

  [[noreturn]] void no_such_case() const {
    throw UsageError(text("there is no case ", options_.only_case->number, "; ", exercise_,
                          " has cases 1 to ", runner_.cases()));
  }

  struct Uncounted {
    std::size_t check;
    std::optional<CaseRunner::Place> began_at;  // of one that failed half-way
  };

  const std::string& exercise_;
  const std::vector<int>& declared_;
  const Exam checks_;
  const std::string& player_;
  const JudgeOptions& options_;
  CaseRunner runner_;
  Report report_;
  std::vector<Uncounted> uncounted_;
  std::optional<std::string> stopped_;  // why nothing more is run
};

}  // namespace

Tally tally_of(const Report& report) {
  Tally tally;
  for (const CheckReport& check : report.checks) {
    ++tally.checks;
    tally.cases += check.cases;
    if (check.skipped) {
      ++tally.skipped;
    } else if (check.verdict == Verdict::pass) {
      ++tally.passed;
    } else {
      ++tally.failed;
    }
  }
  return tally;
}

Report judge_exam(const std::string& exercise, const DeclaredExam& exam, const std::string& player,
                  const JudgeOptions& options) {
  return Judgement(exercise, exam, player, options).report();
}

}  // namespace lockstep::grader
