// The manifests as values: which lessons and exercises there are, and the way through them.
//
//   exercises/course.toml               the lessons, their quizzes, and the path
//   exercises/NN_lesson/<name>.toml     all that is true of one code exercise; exercises/README.md
//                                       tells its keys
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::grader {

enum class Kind : unsigned char { code, quiz };

struct Lesson {
  std::string folder;  // "06_all_reduce"
  std::string title;   // "All-reduce"
  std::string number() const { return folder.substr(0, 2); }
};

// How a run of the engine's programs comes to call a part.
struct CalledBy {
  // Any of "--all-reduce ring", "--pp and --schedule 1f1b"; empty: always.
  std::vector<std::string> options;
  std::string adds;                   // what a run with the student's part is given by itself …
  std::vector<std::string> not_with;  // … unless it has one of these
  std::string unused;                 // why the trainer never calls it; empty: it does
  // Options of a simulated run that ./lab compare makes with the part, and of one without it.
  std::string compare, compare_with;
  std::string train;  // options of ./lab train --with work that show it at work
  // The same of another command, where the trainer does not call it: "generate --checkpoint DIR".
  std::string shown_by;
};

struct Exercise {
  std::string name;    // "ring_all_reduce"; every quiz is called "quiz"
  std::string lesson;  // the lesson's folder
  Kind kind = Kind::code;
  int place = 0;  // in its lesson: smaller ones come first, then by name
  int points = 0;
  int minutes = 0;
  int version = 1;                 // greater since it judges otherwise; CHANGELOG.md says why
  int difficulty = 1;              // 1 easy, 2 medium, 3 hard
  bool core = false;               // on the shortest path through the course
  std::vector<std::string> after;  // exercises to solve before
  std::string reading;             // folder of the lesson that leads to it: its own, or another
  std::string moved_from;          // folder of the lesson in which it stood before; empty: none
  // Fields of a code exercise:
  std::string header;                // the contract
  std::vector<std::string> symbols;  // what the file must define, as `nm -C` prints it
  std::string family;                // the kind of exam
  std::vector<std::string> rooms;    // what its player is linked with, besides comm
  std::vector<std::string> may_use;  // other parts whose references are linked into its player
  std::string battery;               // the situations that its exam asks; as a rule its family's
  // Situations that its exam does not ask; and why.
  std::map<std::string, std::string> not_asked;
  bool mistakes = false;               // its judge names the mutant that gives an answer
  std::vector<int> cases;              // that each check plays at least
  std::map<int, std::string> trivial;  // checks, from 1, that an impostor may pass; and why
  bool among_processes = false;        // the results of real processes say whether it is right
  std::string baseline, native;        // programs of ./lab sim that ./lab compare sets beside it
  CalledBy called_by;

  std::string address() const { return lesson + "/" + name; }
  std::string file() const { return address() + (kind == Kind::quiz ? ".toml" : ".cpp"); }
  // The same at the place where it stood before.
  std::string earlier_address() const { return moved_from + "/" + name; }
  std::string earlier_file() const { return moved_from + "/" + name + ".cpp"; }
  // The name that a person types: the name if it is unique, the address for a quiz.
  std::string handle() const { return kind == Kind::quiz ? address() : name; }
};

struct Course {
  std::vector<Lesson> lessons;
  std::vector<Exercise> exercises;  // lesson by lesson
  std::vector<std::size_t> path;    // places of all exercises in the order that students are led
};

// Reads course.toml and the exercises' manifests in the folders beside it.
//   Throws  UsageError naming file and line when a key is missing, unknown or of the wrong type, a
//           lesson is not listed, two exercises have one name or define one symbol, may_use names
//           no part, after names no exercise that comes before on the path, or after of a core
//           exercise names an optional one
Course read_course(const std::filesystem::path& manifest);

// One exercise by name ("ring_all_reduce"), address ("06_all_reduce/ring_all_reduce") or the path
// of any of its files. A typing error throws UsageError with the nearest name.
const Exercise& exercise_named(const Course& course, std::string_view name);

// All exercises of "06", "6", "06_all_reduce", or one as above. A lesson without any throws
// UsageError with the place of its text.
std::vector<const Exercise*> exercises_named(const Course& course, std::string_view name);

}  // namespace lockstep::grader
