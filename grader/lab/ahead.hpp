// Building ahead. What a student is judged with next is built in the background, so that the first
// check of a lesson need not wait for its judge: one target at a time, by one builder, at the
// lowest priority. A build that somebody waits for goes first: the builder ends its ninja, makes
// way and goes on later. What a compiler was at is lost then; what was compiled is not.
//
// File build/<preset>/ahead: locked by the builder while it lives; its text is the builder's
// process and what it is at, "4711 07 12 40". A command during which there must be no builder ends
// it and has the lock until the command has ended (setup/build.sh). SIGUSR1 makes the builder make
// way, SIGTERM ends it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Starts the builder in a process of its own and returns at once. Does nothing unless lab.ahead, or
// where there is one already or must not be one.
//   first  the exercise that is worked at; nullptr: the one at hand
void build_ahead(const Lab& lab, const Exercise* first = nullptr);

// The targets of the unsolved exercises of two lessons, from the one at hand on along the path,
// each judge before its players; behind those of the first lesson the program of further commands.
struct AheadTarget {
  std::string name;    // "judge-07"
  std::string lesson;  // "07"; of the program for which
};
std::vector<AheadTarget> targets_ahead(const Lab& lab, const Progress& progress,
                                       const Exercise* first = nullptr);

// "lesson 07, step 12 of 40" while there is a builder.
std::optional<std::string> built_ahead_now(const Lab& lab);

// Asks the builder to make way.
//   Returns  false if there is none
bool make_builder_give_way(const Lab& lab);

}  // namespace lockstep::grader
