// ./lab dev stubs, course, prove, matrix, affected: for those who change the course.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/course/affected.hpp"
#include "grader/course/text_file.hpp"
#include "grader/lab/course_check.hpp"
#include "grader/lab/lab.hpp"
#include "grader/lab/proof.hpp"
#include "grader/lab/ready.hpp"

namespace lockstep::grader {
namespace {

Exit write_stubs(const Lab& lab) {
  for (const Exercise& exercise : lab.course.exercises) {
    const std::string stub = fresh_stub(lab, exercise);
    const auto file = lab.places.stub(exercise);
    if (std::filesystem::exists(file) && read_text(file) == stub) continue;
    write_text(file, stub);
    std::cout << "exercises/" << exercise.file() << "\n";
  }
  return Exit::passed;
}

Exit print_problems(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) std::cout << problem << "\n";
  if (problems.empty()) std::cout << "the course is consistent\n";
  return problems.empty() ? Exit::passed : Exit::failed;
}

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

// A file that cannot be read is a proof that does not hold; the others go on.
Proof proof_of(const Lab& lab, const Exercise& exercise) {
  try {
    return prove_exercise(lab, exercise);
  } catch (const Error& error) {
    Proof proof;
    proof.holds = false;
    proof.kills.handle = exercise.handle();
    proof.summary = text(exercise.handle(), ": ", error.what(), "\n");
    return proof;
  }
}

// Proofs know nothing of each other: one a core, each told of as it ends.
std::vector<Proof> proofs_of(const Lab& lab, const std::vector<const Exercise*>& exercises) {
  make_ready(lab, exercises);
  std::vector<Proof> proofs(exercises.size());
  std::atomic<std::size_t> next{0};
  std::mutex printing;
  std::vector<std::jthread> strands;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    strands.emplace_back([&] {
      for (std::size_t at = next++; at < exercises.size(); at = next++) {
        proofs[at] = proof_of(lab, *exercises[at]);
        const std::scoped_lock lock(printing);
        std::cout << proofs[at].summary << std::flush;
      }
    });
  }
  return proofs;
}

Exit prove(const Lab& lab, const Words& names) {
  const auto proofs = proofs_of(lab, asked_for(lab, names));
  const bool holds = std::ranges::all_of(proofs, &Proof::holds);
  return holds ? Exit::passed : Exit::failed;
}

// The page of all exercises, made of what is kept.
Exit write_page(const Lab& lab, const std::string& file) {
  std::vector<ExerciseKills> all;
  for (const Exercise& exercise : lab.course.exercises) all.push_back(kept_kills(lab, exercise));
  write_text(file, kill_page(all));
  std::cout << file << ": " << sentence_of(totals_of(all)) << "\n";
  return Exit::passed;
}

Exit matrix(const Lab& lab, Words words) {
  const auto page = std::ranges::find(words, "--page");
  if (page != words.end()) {
    if (words.size() != 2 || page != words.begin()) {
      throw UsageError("--page FILE stands alone: it writes the page of all exercises");
    }
    return write_page(lab, words.back());
  }
  const bool writes = std::erase(words, "--write") > 0;
  const auto exercises = asked_for(lab, words);
  const auto proofs = proofs_of(lab, exercises);
  std::vector<ExerciseKills> seen;
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    if (proofs[i].kills.checks.empty()) continue;  // the proof did not come so far
    seen.push_back(proofs[i].kills);
    if (!writes) continue;
    write_text(kills_file(lab, *exercises[i]), kills_file_of(seen.back()));
    std::cout << lab.places.shown(kills_file(lab, *exercises[i])) << "\n";
  }
  if (!writes) std::cout << "\n" << kill_page(seen);
  return Exit::passed;
}

// On standard output the labels as ctest's -L takes them, nothing when every test is asked for;
// why, on standard error.
Exit affected(const Lab& lab, const Words& paths) {
  const Affected found = affected_by(paths, include_lines(lab.places.root), lab.course);
  for (const std::string& line : found.why) std::cerr << line << "\n";
  if (found.all) return Exit::passed;
  std::string pattern;
  for (const std::string& label : found.labels) pattern += (pattern.empty() ? "" : "|") + label;
  std::cout << "^(" << pattern << ")$\n";
  return Exit::passed;
}

}  // namespace

Exit dev_command(const Lab& lab, const Words& words) {
  const std::vector<std::string> known{"stubs", "course", "prove", "matrix", "affected"};
  const std::string command = words.empty() ? "" : words.front();
  const Words rest(words.empty() ? words.begin() : words.begin() + 1, words.end());
  if (command == "stubs") return write_stubs(lab);
  if (command == "course") return print_problems(course_problems(lab));
  if (command == "prove") return prove(lab, rest);
  if (command == "matrix") return matrix(lab, rest);
  if (command == "affected") return affected(lab, rest);
  throw UsageError(text(
      "usage: ./lab dev stubs | course | prove [NAME…] | matrix [NAME…] [--write] | matrix --page "
      "FILE | affected PATH…; '",
      command, "' is none of them", did_you_mean(command, known)));
}

}  // namespace lockstep::grader
