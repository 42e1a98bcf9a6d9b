// The manifest exercises/course.toml as values: which lessons and exercises there are, in order.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::grader {

enum class Kind : unsigned char { code, quiz };

struct Lesson {
  std::string folder;  // "06_all_reduce"
  std::string title;   // "All-reduce"
};

struct Exercise {
  std::string name;    // "ring_all_reduce"; every quiz is called "quiz"
  std::string lesson;  // the lesson's folder
  Kind kind = Kind::code;
  std::string header;                // the contract; empty for a quiz
  std::vector<std::string> symbols;  // as `nm -C` prints them
  std::vector<std::string> may_use;  // parts
  int points = 0;
  int minutes = 0;
  bool core = false;
  int difficulty = 2;              // 1 easy, 2 medium, 3 hard
  std::vector<std::string> after;  // names of exercises to solve before

  std::string address() const { return lesson + "/" + name; }
  std::string file() const { return address() + (kind == Kind::quiz ? ".toml" : ".cpp"); }
  // What a person types: the name where it is unique, the address for a quiz.
  std::string handle() const { return kind == Kind::quiz ? address() : name; }
};

struct Course {
  std::vector<Lesson> lessons;
  std::vector<Exercise> exercises;
};

//   Throws  UsageError naming the entry when a key is missing, a lesson is unknown, a name is given
//           twice, may_use names no part, or after names no exercise that is listed before
Course read_course(const std::filesystem::path& manifest);

// One exercise by name ("ring_all_reduce"), address ("06_all_reduce/ring_all_reduce") or the path
// of any of its files. A typing error throws UsageError with the nearest name.
const Exercise& exercise_named(const Course& course, std::string_view name);

// All exercises of "06", "6", "06_all_reduce", or one as above. A lesson without any throws
// UsageError with the place of its text.
std::vector<const Exercise*> exercises_named(const Course& course, std::string_view name);

}  // namespace lockstep::grader
