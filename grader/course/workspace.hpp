// The paths of an exercise's files, and of the student's copies in work/.
//
//   exercises/ pristine stubs, tasks and hints     solutions/ references, and quizzes with answers
//   work/      the student's copies, not tracked   build/<preset>/ recipes and players
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

struct Places {
  std::filesystem::path root;   // of the repository
  std::filesystem::path build;  // the folder CMake configured

  std::filesystem::path manifest() const { return root / "exercises" / "course.toml"; }
  // The manifest of a code exercise.
  std::filesystem::path manifest(const Exercise& e) const {
    return root / "exercises" / (e.address() + ".toml");
  }
  // The stub. That of a quiz is only in the students' edition; elsewhere pristine() makes it.
  std::filesystem::path stub(const Exercise& e) const { return root / "exercises" / e.file(); }
  std::filesystem::path task(const Exercise& e) const {
    return root / "exercises" / (e.address() + ".md");
  }
  std::filesystem::path common_hints() const { return root / "exercises" / "common_hints.md"; }
  std::filesystem::path solution(const Exercise& e) const { return root / "solutions" / e.file(); }
  // The key of a quiz: its file or, if that is not handed out, hashes.
  std::filesystem::path quiz_key(const Exercise& e) const {
    return std::filesystem::exists(solution(e)) ? solution(e) : hashed_key(e);
  }
  std::filesystem::path work(const Exercise& e) const { return root / "work" / e.file(); }
  std::filesystem::path progress() const { return root / "work" / ".progress"; }
  std::filesystem::path predictions() const { return root / "work" / ".predictions"; }
  std::filesystem::path lesson(const Lesson& l) const { return root / "lessons" / l.folder; }
  std::filesystem::path recipe(const Exercise& e) const {
    return build / "recipes" / (e.name + ".recipe");
  }
  // In the students' edition: the command that links a program, a part's reference,
  // and the hashes of a quiz's answers.
  std::filesystem::path links(const std::string& program) const {
    return build / "links" / program;
  }
  std::filesystem::path reference_object(const Exercise& e) const {
    return build / "solutions/CMakeFiles" / ("part_" + e.name + ".dir") / (e.file() + ".o");
  }
  std::filesystem::path hashed_key(const Exercise& e) const {
    return build / "keys" / (e.address() + ".json");
  }
  // The program that judges it (grader/judge/judge_call.hpp).
  std::filesystem::path judge(const Exercise& e) const {
    return build / "bin" / ("judge-" + e.reading.substr(0, 2));
  }
  // The program of its known mistakes (grader/judge/known_mistakes.hpp).
  std::filesystem::path mistakes(const Exercise& e) const { return build / "mistakes" / e.name; }
  // A player that contains no part (grader/impostors/impostor.hpp).
  std::filesystem::path impostor(const std::string& kind) const {
    return build / "bin" / ("impostor-" + kind);
  }
  std::filesystem::path traces() const { return root / "build" / "traces"; }
  // The recording of the last check.
  std::filesystem::path timeline(const Exercise& e) const {
    return traces() / (e.name + ".timeline");
  }
  std::filesystem::path students() const { return build / "students"; }

  // Relative to the root where it lies below it: how a path is shown to a person.
  std::string shown(const std::filesystem::path& path) const;
};

// The exercise's file as it is handed out: the stub, or the quiz without its answers.
std::string pristine(const Places& places, const Exercise& exercise);

// The reference as a student would hand it in: a quiz without its rules.
std::string reference_answer(const Places& places, const Exercise& exercise);

// Copies the stubs that work/ lacks and returns them, in course order. Never overwrites.
std::vector<const Exercise*> copy_missing_stubs(const Places& places, const Course& course);

// True if work/ has the exercise's file exactly as it is handed out.
bool is_pristine(const Places& places, const Exercise& exercise);

// Puts the pristine stub in place. What was there is moved aside to the first free one of
// <file>.bak, <file>.bak.1, …; a stub that nobody touched stays.
//   Returns  where the old one is now; "" when there was none, or nothing had to be done
std::filesystem::path reset_work(const Places& places, const Exercise& exercise);

}  // namespace lockstep::grader
