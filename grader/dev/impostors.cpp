#include "grader/dev/impostors.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "engine/base/error.hpp"
#include "grader/dev/liars.hpp"
#include "grader/dev/seed_trials.hpp"
#include "grader/judge/judge_call.hpp"
#include "grader/lab/ready.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

bool holds(Verdict verdict) { return verdict == Verdict::pass || verdict == Verdict::efficiency; }

// The random impostor under a name for each seed, by which it draws.
class NamedImpostors {
 public:
  explicit NamedImpostors(const Lab& lab)
      : places_(lab.places), folder_(lab.places.build / "impostors" / text(::getpid())) {
    fs::create_directories(folder_);
  }
  ~NamedImpostors() {
    std::error_code gone;
    fs::remove_all(folder_, gone);
  }
  NamedImpostors(const NamedImpostors&) = delete;
  NamedImpostors& operator=(const NamedImpostors&) = delete;

  void add_names(int seeds) const {
    for (int seed = 1; seed <= seeds; ++seed) {
      fs::create_symlink(places_.impostor("random"), random(seed));
    }
  }
  fs::path player(const std::string& kind, int seed) const {
    return kind == "random" ? random(seed) : places_.impostor(kind);
  }

 private:
  // Not by the process: the same seed draws the same numbers tomorrow.
  fs::path random(int seed) const { return folder_ / text("random-", seed); }

  const Places& places_;
  fs::path folder_;
};

// The checks of one exercise that impostors came through.
class ImpostorTrial {
 public:
  ImpostorTrial(const Lab& lab, const Exercise& exercise) : lab_(lab), exercise_(exercise) {}

  void run(const NamedImpostors& players, int seeds) {
    for (int seed = 1; seed <= seeds; ++seed) {
      for (const char* kind : impostor_kinds) {
        const Report report = judge_impostor(lab_, exercise_, players.player(kind, seed),
                                             Battery::whole, static_cast<std::uint64_t>(seed));
        look_at(report, kind, seed);
      }
    }
    for (const Liar& liar : liars_of(exercise_)) run_liar(liar, seeds);
    for (const auto& [check, why] : exercise_.trivial) {
      if (held_.contains(check)) continue;
      complain(text("check ", check,
                    " is declared trivial, but no impostor passes it: take it off ",
                    "the manifest's list"));
    }
    for (const auto& [check, times] : held_) {
      if (exercise_.trivial.contains(check)) continue;
      complain(text("check ", check, ", '", names_[check], "', holds ", times, " times in ",
                    3 * seeds, " for a player that contains no part (first for the ", first_[check],
                    "): it must demand evidence, or play more cases, or be declared trivial"));
    }
  }

  const std::string& complaints() const { return complaints_; }

 private:
  // Its values are right, so that some checks hold: those that ask for nothing else.
  void run_liar(const Liar& liar, int seeds) {
    for (int seed = 1; seed <= seeds; ++seed) {
      const Report report = judge_impostor(lab_, exercise_, lab_.places.impostor(liar.kind()),
                                           Battery::whole, static_cast<std::uint64_t>(seed));
      const std::string who = text(liar.kind(), " impostor with --seed ", seed);
      if (report.verdict == Verdict::pass || report.verdict == Verdict::infrastructure) {
        complain(text("the ", who, " is judged '", name_of(report.verdict), "': ", report.message));
      }
      for (const int check : liar.checks) {
        const auto& of_check = report.checks.at(static_cast<std::size_t>(check - 1));
        if (of_check.verdict != Verdict::pass) continue;
        complain(text("check ", check, ", '", of_check.name, "', believes the ", who,
                      ": what it asks for must be measured by the judge"));
      }
    }
  }

  void look_at(const Report& report, const std::string& kind, int seed) {
    const std::string who = text(kind, " impostor with --seed ", seed);
    if (report.verdict == Verdict::infrastructure) {
      complain(text("the ", who, " makes the lab fail: ", report.message));
    } else if (is_taken_in(report)) {
      complain(text("the ", who, " is judged '", name_of(report.verdict), "' with ", report.points,
                    " points"));
    }
    for (std::size_t i = 0; i < report.checks.size(); ++i) {
      if (!holds(report.checks[i].verdict)) continue;
      const int check = static_cast<int>(i) + 1;
      ++held_[check];
      names_[check] = report.checks[i].name;
      first_.try_emplace(check, who);
    }
  }

  void complain(const std::string& what) { complaints_ += exercise_.handle() + ": " + what + "\n"; }

  const Lab& lab_;
  const Exercise& exercise_;
  std::map<int, int> held_;  // by check, from 1: how often it held
  std::map<int, std::string> names_, first_;
  std::string complaints_;
};

}  // namespace

void make_impostors_ready(const Lab& lab, const std::vector<const Exercise*>& exercises) {
  std::set<std::string> targets;
  for (const char* kind : impostor_kinds) targets.insert(text("impostor-", kind));
  for (const Exercise* exercise : exercises) {
    if (exercise->kind != Kind::code) continue;
    for (const Liar& liar : liars_of(*exercise)) targets.insert("impostor-" + liar.kind());
    targets.insert(lab.places.judge(*exercise).filename().string());
  }
  make_targets_ready(lab, targets);
}

Report judge_impostor(const Lab& lab, const Exercise& exercise, const fs::path& player,
                      Battery battery, std::uint64_t seed) {
  JudgeOptions options;
  options.seed = seed;
  options.battery = battery;
  options.limits = lab.limits;
  options.max_points = exercise.points;
  return call_judge(lab.places.judge(exercise), {exercise.name, player.string(), options});
}

bool is_taken_in(const Report& report) { return holds(report.verdict) || report.points > 0; }

Trial trial_of_impostors(const Lab& lab, const Exercise& exercise) {
  const Places& places = lab.places;
  Trial trial{"impostors", {places.manifest(exercise), "/proc/self/exe", places.judge(exercise)}};
  for (const char* kind : impostor_kinds) trial.files.push_back(places.impostor(kind));
  for (const Liar& liar : liars_of(exercise)) trial.files.push_back(places.impostor(liar.kind()));
  return trial;
}

Exit impostors_command(const Lab& lab, const Words& words) {
  const SeedTrials trials = seed_trials(lab, words);
  make_impostors_ready(lab, trials.exercises);
  const NamedImpostors players(lab);
  players.add_names(trials.seeds);
  const auto trial_of = [&](const Exercise& exercise) { return trial_of_impostors(lab, exercise); };
  const bool refused = all_hold(lab, trials, trial_of, [&](const Exercise& exercise) {
    ImpostorTrial trial(lab, exercise);
    trial.run(players, trials.seeds);
    return trial.complaints();
  });
  std::size_t declared = 0, lying = 0;
  for (const Exercise* exercise : trials.exercises) {
    declared += exercise->trivial.size();
    lying += liars_of(*exercise).size();
  }
  std::cout << text_of(trials) << ", " << impostor_kinds.size() << " impostors"
            << (lying > 0 ? text(" and ", lying, " that lie: ") : std::string(": "))
            << (refused ? "every check refuses them" : "not every check refuses them")
            << (declared > 0 ? text("; ", declared, " declared trivial") : std::string()) << "\n";
  return refused ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
