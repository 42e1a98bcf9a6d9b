#include "grader/lab/impostors.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <thread>

#include "engine/base/error.hpp"
#include "grader/judge/call.hpp"
#include "grader/lab/ready.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

bool holds(sim::Verdict verdict) {
  return verdict == sim::Verdict::pass || verdict == sim::Verdict::efficiency;
}

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

// What the impostors came through of one exercise.
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
  void look_at(const Report& report, const std::string& kind, int seed) {
    const std::string who = text(kind, " impostor with --seed ", seed);
    if (report.verdict == sim::Verdict::infrastructure) {
      complain(text("the ", who, " makes the lab fail: ", report.message));
    } else if (is_taken_in(report)) {
      complain(text("the ", who, " is judged '", sim::name_of(report.verdict), "' with ",
                    report.points, " points"));
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

int seeds_in(Words& words) {
  constexpr int usual = 3, most = 100'000;
  const auto option = std::ranges::find(words, "--seeds");
  if (option == words.end()) return usual;
  const bool number =
      option + 1 != words.end() && !(option + 1)->empty() && (option + 1)->size() <= 6 &&
      std::ranges::all_of(*(option + 1), [](char c) { return c >= '0' && c <= '9'; });
  const int seeds = number ? std::stoi(*(option + 1)) : 0;
  if (seeds < 1 || seeds > most) throw UsageError(text("--seeds takes a number, 1 to ", most));
  words.erase(option, option + 2);
  return seeds;
}

std::vector<const Exercise*> code_exercises(const Lab& lab, const Words& names) {
  std::vector<const Exercise*> exercises;
  for (const Exercise& exercise : lab.course.exercises) {
    if (exercise.kind == Kind::code && names.empty()) exercises.push_back(&exercise);
  }
  for (const std::string& name : names) {
    for (const Exercise* exercise : exercises_named(lab.course, name)) {
      if (exercise->kind == Kind::code) exercises.push_back(exercise);
    }
  }
  return exercises;
}

}  // namespace

void make_impostors_ready(const Lab& lab, const std::vector<const Exercise*>& exercises) {
  std::set<std::string> targets;
  for (const char* kind : impostor_kinds) targets.insert(text("impostor-", kind));
  for (const Exercise* exercise : exercises) {
    if (exercise->kind != Kind::code) continue;
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

Exit impostors_command(const Lab& lab, Words words) {
  const int seeds = seeds_in(words);
  const auto exercises = code_exercises(lab, words);
  make_impostors_ready(lab, exercises);
  const NamedImpostors players(lab);
  players.add_names(seeds);
  std::vector<std::string> complaints(exercises.size());
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> strands;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      strands.emplace_back([&] {
        for (std::size_t at = next++; at < exercises.size(); at = next++) {
          ImpostorTrial trial(lab, *exercises[at]);
          try {
            trial.run(players, seeds);
            complaints[at] = trial.complaints();
          } catch (const Error& error) {
            complaints[at] = text(exercises[at]->handle(), ": ", error.what(), "\n");
          }
        }
      });
    }
  }
  std::size_t declared = 0;
  for (const Exercise* exercise : exercises) declared += exercise->trivial.size();
  for (const std::string& complaint : complaints) std::cout << complaint;
  const bool refused = std::ranges::all_of(complaints, &std::string::empty);
  std::cout << exercises.size() << " exercises, " << impostor_kinds.size() << " impostors, "
            << seeds
            << " seeds: " << (refused ? "every check refuses them" : "not every check refuses them")
            << (declared > 0 ? text("; ", declared, " declared trivial") : std::string()) << "\n";
  return refused ? Exit::passed : Exit::failed;
}

}  // namespace lockstep::grader
