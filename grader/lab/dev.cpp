// ./lab dev stubs, course, prove, matrix, affected: for those who change the course.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
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

// A patch that does not fit any more is a proof that does not hold; the others go on.
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

// The line that says so when the page is not what was just seen.
std::string told_otherwise(const std::vector<ExerciseKills>& page, const ExerciseKills& seen) {
  const auto told = std::ranges::find(page, seen.handle, &ExerciseKills::handle);
  const std::string why =
      told == page.end() ? "it is not on the page" : first_difference(*told, seen);
  if (why.empty()) return "";
  return text(seen.handle, ": docs/kill_matrix.md is of another time: ", why,
              ". Look, and then: ./lab dev matrix ", seen.handle, " --write\n");
}

Exit prove(const Lab& lab, const Words& names) {
  const auto proofs = proofs_of(lab, asked_for(lab, names));
  const auto page = read_kill_page(read_text(kill_page_file(lab)));
  bool holds = true;
  for (const Proof& proof : proofs) {
    const std::string stale = lab.sanitized ? "" : told_otherwise(page, proof.kills);
    std::cout << stale;
    holds = holds && proof.holds && stale.empty();
  }
  return holds ? Exit::passed : Exit::failed;
}

// The page in the course's order: what was proven now, and of the others what it says already.
std::vector<ExerciseKills> renewed(const Lab& lab, const std::vector<Proof>& proofs) {
  std::map<std::string, ExerciseKills> known;
  for (ExerciseKills& kills : read_kill_page(read_text(kill_page_file(lab)))) {
    known[kills.handle] = std::move(kills);
  }
  for (const Proof& proof : proofs) {
    if (!proof.kills.checks.empty()) known[proof.kills.handle] = proof.kills;
  }
  std::vector<ExerciseKills> all;
  for (const Exercise& exercise : lab.course.exercises) {
    const auto found = known.find(exercise.handle());
    if (found != known.end()) all.push_back(std::move(found->second));
  }
  return all;
}

void quote_in_readme(const Lab& lab, const std::string& old, const std::string& now) {
  const auto file = lab.places.root / "README.md";
  std::string readme = read_text(file);
  const std::size_t at = readme.find(old);
  if (at != std::string::npos) write_text(file, readme.replace(at, old.size(), now));
}

Exit matrix(const Lab& lab, Words words) {
  const bool writes = std::erase(words, "--write") > 0;
  const auto proofs = proofs_of(lab, asked_for(lab, words));
  if (writes) {
    const std::string old = sentence_of(totals_of(read_kill_page(read_text(kill_page_file(lab)))));
    const auto all = renewed(lab, proofs);
    write_text(kill_page_file(lab), kill_page(all));
    quote_in_readme(lab, old, sentence_of(totals_of(all)));
    std::cout << lab.places.shown(kill_page_file(lab)) << "\n";
  } else {
    std::vector<ExerciseKills> seen;
    for (const Proof& proof : proofs) seen.push_back(proof.kills);
    std::cout << "\n" << kill_page(seen);
  }
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
  throw UsageError(
      text("usage: ./lab dev stubs | course | prove [NAME…] | matrix [NAME…] [--write] | affected "
           "PATH…; '",
           command, "' is none of them", did_you_mean(command, known)));
}

}  // namespace lockstep::grader
