// Shared by the commands of ./lab: the paths, the course, and the colours of output.
#pragma once

#include <string>
#include <vector>

#include "engine/sim/hosts/process_host.hpp"
#include "grader/course/compile/student_build.hpp"
#include "grader/course/manifest.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/workspace.hpp"

namespace lockstep::grader {

struct Lab {
  Places places;
  Course course;
  Paint paint = Paint::plain;
  std::size_t columns = 0;  // of the terminal that is printed on; 0: none, lines are not broken
  sim::PlayerLimits limits;
  bool builds = false;     // ./lab asks: what is missing for a check is built (ready.hpp)
  bool ahead = false;      // and what comes next is built in the background (ahead.hpp)
  bool packed = false;     // the students' edition: references are objects, and nothing is built
  bool sanitized = false;  // this build runs under a sanitizer, which sees more and is slower
};

// The exit codes of every command (./lab help).
enum class Exit : int { passed = 0, failed = 1, usage = 2, machine = 3, lab_failed = 4 };

// `words` is the command line after the command's name.
using Words = std::vector<std::string>;
Exit check_command(const Lab& lab, const Words& words);
Exit watch_command(const Lab& lab, const Words& words);
Exit overview_command(const Lab& lab, const Words& words);
Exit next_command(const Lab& lab, const Words& words);
Exit solution_command(const Lab& lab, const Words& words);
Exit quiz_command(const Lab& lab, const Words& words);
Exit predict_command(const Lab& lab, const Words& words);
Exit hint_command(const Lab& lab, const Words& words);
Exit list_command(const Lab& lab, const Words& words);
Exit show_command(const Lab& lab, const Words& words);
Exit reset_command(const Lab& lab, const Words& words);
Exit begin_command(const Lab& lab, const Words& words);

// How an exercise stands:
//   solved      its file is what passed with full points
//   changed     since it was judged
//   updated     a newer course hands it out differently than when the student began or was judged
//   unreadable  something else than a file has its place in work/
enum class State : unsigned char { untouched, solved, not_yet, changed, updated, unreadable };
State state_of(const Lab& lab, const Exercise& exercise, const Progress& progress);

// The first exercise behind `after` that is not solved and comes after solved ones only, going
// round at the end of the course; nullptr when all are solved. Without `after` from the beginning.
const Exercise* next_exercise(const Lab& lab, const Progress& progress,
                              const Exercise* after = nullptr);

// The exercise that the student works at: the one whose file was edited last, or the next one
// behind it when that is solved. nullptr when all are.
const Exercise* exercise_at_hand(const Lab& lab, const Progress& progress);

// Puts the student's file there where it is missing.
//   Throws  UsageError when something else has its place
void ensure_file(const Lab& lab, const Exercise& exercise);

// Notes that the student's file was copied from the present stub.
void note_begun(const Lab& lab, const std::vector<const Exercise*>& exercises);

}  // namespace lockstep::grader
