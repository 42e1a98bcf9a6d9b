// Mistakes on purpose: a run of the trainer with one shows what it looks like. Most are parts that
// are wrong, lessons/<lesson>/broken/<name>.cpp, each in the place of its reference. broken.toml
// beside them says which part each is and with which options the mistake shows.
//
//   [[break]]
//   name = "no_average"              # of the file
//   part = "average_gradients"       # whose place it takes
//   run = "--ranks 4 --no-overlap"   # options of ./lab train; a --checkpoint is each run's own
//   before = "--steps 15"            # optional: a sound run with these options on top comes first,
//                                    # and both runs resume from a copy of its checkpoint
//   each_before = "--steps 15"       # the same, but each of the two programs runs first by itself,
//                                    # may end early, and resumes from what it has left
//   sound = "--compress none"        # optional: options that the sound run has instead. Then the
//                                    # mistake is in the options, and there is no file
//   shows = "replicas"               # where it is seen: replicas, loss, order, end, bytes,
//                                    # time or steps
//   what = "…"                       # half a sentence: what the file does wrong
//   why = "…"                        # what the reader has seen, and why
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/course/manifest.hpp"

namespace lockstep::grader {

// How a broken run differs from the sound one.
enum class Symptom : unsigned char {
  replicas,  // the ranks end with different models
  loss,      // the last loss is higher
  order,     // two epochs take the same batches in the same order
  end,       // the run stops before its last step
  bytes,     // the losses are the same, but a step sends more
  time,      // the losses are the same, but a step takes longer: in virtual time, which is exact
  steps,     // the run takes more steps, and thus samples again that it has had
};

struct Broken {
  std::string name;
  const Exercise* part = nullptr;
  std::vector<std::string> run, before, each_before, sound;
  Symptom shows = Symptom::loss;
  std::string what, why;
  std::filesystem::path source;  // its object, in the students' edition; empty with `sound`
};

// Those of all lessons, in order; `course` must outlive them.
//   Throws  UsageError with file and line when a broken.toml is malformed, names no part or lacks
//           its file
std::vector<Broken> broken_parts(const std::filesystem::path& root, const Course& course);

}  // namespace lockstep::grader
