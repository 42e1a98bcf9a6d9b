// What the commands of lab-tool share: where everything lies, the course, and how to paint.
#pragma once

#include <string>
#include <vector>

#include "engine/sim/process_host.hpp"
#include "grader/course/manifest.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/student_build.hpp"
#include "grader/course/workspace.hpp"

namespace lockstep::grader {

struct Lab {
  Places places;
  Course course;
  Paint paint = Paint::plain;
  sim::PlayerLimits limits;
};

// The exit codes of every command (./lab help).
enum class Exit : int { passed = 0, failed = 1, usage = 2, machine = 3, lab_failed = 4 };

// `words` is the command line after the command's name.
using Words = std::vector<std::string>;
Exit check_command(const Lab& lab, const Words& words);
Exit list_command(const Lab& lab, const Words& words);
Exit show_command(const Lab& lab, const Words& words);
Exit reset_command(const Lab& lab, const Words& words);
Exit begin_command(const Lab& lab, const Words& words);
Exit compare_command(const Lab& lab, const Words& words);
Exit trace_command(const Lab& lab, const Words& words);
Exit with_work_command(const Lab& lab, const Words& words);
Exit dev_command(const Lab& lab, const Words& words);

// How an exercise stands: solved means judged with full points and not changed since; unreadable,
// that something else than a file has its place in work/.
enum class State : unsigned char { untouched, solved, not_yet, changed, unreadable };
State state_of(const Lab& lab, const Exercise& exercise, const Progress& progress);

// The first exercise that is not solved; nullptr when all are.
const Exercise* next_exercise(const Lab& lab, const Progress& progress);

}  // namespace lockstep::grader
