#include "grader/dev/prove.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/exercise_cost.hpp"
#include "grader/dev/proof.hpp"
#include "grader/lab/ready.hpp"
#include "grader/memory/memory.hpp"

namespace lockstep::grader {
namespace {

std::vector<const Exercise*> asked_for(const Lab& lab, const Words& names) {
  std::vector<const Exercise*> exercises;
  for (const std::string& name : names) {
    const auto named = exercises_named(lab.course, name);
    exercises.insert(exercises.end(), named.begin(), named.end());
  }
  if (names.empty()) {
    for (const Exercise& exercise : lab.course.exercises) exercises.push_back(&exercise);
  }
  return exercises;
}

// Prints while proofs go on: a line as each ends, and on a terminal how far they are.
class Telling {
 public:
  explicit Telling(std::size_t exercises) : all_(exercises) { show(); }

  void judged() {
    const std::scoped_lock lock(mutex_);
    ++answers_;
    show();
  }
  void proved(const Proof& proof) {
    const std::scoped_lock lock(mutex_);
    ++proved_;
    if (shown_) std::cerr << clear << std::flush;
    std::cout << proof.summary << std::flush;
    if (proved_ < all_) show();
  }

 private:
  static constexpr const char* clear = "\r\033[K";

  void show() const {
    if (!shown_) return;
    std::cerr << clear << proved_ << " of " << all_ << " exercises proved, " << answers_
              << " answers judged" << std::flush;
  }

  const bool shown_ = ::isatty(STDERR_FILENO) == 1;
  const std::size_t all_;
  std::size_t proved_ = 0, answers_ = 0;
  std::mutex mutex_;  // guards the counters and what is printed
};

Trial trial_of(const Lab& lab, const Exercise& exercise) {
  return trial_of_answers(lab, exercise, "proof of " + exercise.address());
}

// A proof that held, from what is remembered of it: its sentence, and below that its kills.
std::optional<Proof> remembered(const Trial& trial, const std::string& digest, Memory& memory) {
  const auto known = memory.recall(trial.what, digest);
  if (!known) return std::nullopt;
  const std::size_t end = known->find('\n');
  return Proof{.summary = known->substr(0, end) + ": as before, with the same content\n",
               .kills = read_kills(std::string_view(*known).substr(end + 1)),
               .remembered = true};
}

Proof proof_of(const Lab& lab, const Exercise& exercise, Memory& memory, Telling& telling) {
  const auto judged = [&telling] { telling.judged(); };
  // A quiz is proved as soon as its inputs are looked at, and some of its answers are training
  // runs.
  if (exercise.kind == Kind::quiz) return prove_exercise(lab, exercise, judged);
  const Trial trial = trial_of(lab, exercise);
  const std::string digest = digest_of(lab.places, trial);
  if (auto known = remembered(trial, digest, memory)) return std::move(*known);
  Proof proof = prove_exercise(lab, exercise, judged);
  if (proof.holds) memory.remember(trial, digest, proof.summary + kills_text(proof.kills));
  return proof;
}

// A file that cannot be read is a proof that does not hold; the others go on.
Proof proof_or_why_not(const Lab& lab, const Exercise& exercise, Memory& memory, Telling& telling) {
  try {
    return proof_of(lab, exercise, memory, telling);
  } catch (const Error& error) {
    Proof proof;
    proof.holds = false;
    proof.kills.handle = exercise.handle();
    proof.summary = text(exercise.handle(), ": ", error.what(), "\n");
    return proof;
  }
}

// The checks that a single mutant comes to, so that nothing but this mutant shows their worth.
int single_first_kills(const ExerciseKills& kills) {
  int checks = 0;
  for (std::size_t check = 0; check < kills.checks.size(); ++check) {
    checks += kills.first_kills_of(check) == 1 ? 1 : 0;
  }
  return checks;
}

// Notes the seconds of one proof that had this process to itself.
void note_cost_of(const Lab& lab, const Exercise& exercise, const Proof& proof, double seconds) {
  if (proof.remembered || proof.kills.mutants.empty()) return;  // or it did not come so far
  note_cost(lab, exercise,
            {.mutants = static_cast<int>(proof.kills.mutants.size()),
             .alone = single_first_kills(proof.kills),
             .compiling_s = proof.compiling_s,
             .judging_s = seconds - proof.compiling_s,
             .yardstick_s = yardstick_seconds()});
}

// Proofs know nothing of each other: one a core, each told of as it ends.
std::vector<Proof> proofs_of(const Lab& lab, const std::vector<const Exercise*>& exercises,
                             Recall recall) {
  make_ready(lab, exercises);
  std::vector<Proof> proofs(exercises.size());
  std::atomic<std::size_t> next{0};
  Telling telling(exercises.size());
  Memory memory(lab, recall);
  const double before_s = processor_seconds_used();
  std::vector<std::jthread> strands;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    strands.emplace_back([&] {
      for (std::size_t at = next++; at < exercises.size(); at = next++) {
        proofs[at] = proof_or_why_not(lab, *exercises[at], memory, telling);
        telling.proved(proofs[at]);
      }
    });
  }
  strands.clear();
  if (exercises.size() == 1) {
    note_cost_of(lab, *exercises[0], proofs[0], processor_seconds_used() - before_s);
  }
  return proofs;
}

// The page of all code exercises, made of what proofs have seen here. Nothing is proved for it:
// that can take an hour.
Exit write_page(const Lab& lab, const std::string& file) {
  std::vector<ExerciseKills> known;
  std::vector<std::string> unproved;
  Memory memory(lab, Recall::allowed);
  for (const Exercise& exercise : lab.course.exercises) {
    if (exercise.kind == Kind::quiz) continue;
    const Trial trial = trial_of(lab, exercise);
    if (auto proof = remembered(trial, digest_of(lab.places, trial), memory)) {
      known.push_back(std::move(proof->kills));
    } else {
      unproved.push_back(exercise.handle());
    }
  }
  write_text(file, kill_page(known, unproved));
  std::cout << file << ": " << sentence_of(totals_of(known)) << "\n";
  return Exit::passed;
}

}  // namespace

Exit prove_command(const Lab& lab, Words words) {
  const Recall recall = recall_asked_for(words);
  const auto proofs = proofs_of(lab, asked_for(lab, words), recall);
  return std::ranges::all_of(proofs, &Proof::holds) ? Exit::passed : Exit::failed;
}

Exit matrix_command(const Lab& lab, Words words) {
  const auto page = std::ranges::find(words, "--page");
  if (page != words.end()) {
    if (words.size() != 2 || page != words.begin()) {
      throw UsageError(
          "--page FILE takes no other arguments: it writes one page for all exercises");
    }
    return write_page(lab, words.back());
  }
  const auto proofs = proofs_of(lab, asked_for(lab, words), Recall::allowed);
  std::vector<ExerciseKills> seen;
  for (const Proof& proof : proofs) {
    if (!proof.kills.checks.empty()) seen.push_back(proof.kills);  // else it did not come so far
  }
  std::cout << "\n" << kill_page(seen, {});
  return Exit::passed;
}

}  // namespace lockstep::grader
