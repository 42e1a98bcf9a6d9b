// Which ranks of a world train. All of them do, but with --global-batch: a step then has as many
// samples whatever the number of ranks is, so as many replicas train as can share them out, and the
// other ranks stand by. They join no group: nobody waits for them, and one that dies is not missed.
#pragma once

#include <string>

#include "engine/apps/train_options.hpp"
#include "engine/launch/signals.hpp"
#include "engine/launch/world.hpp"

namespace lockstep::apps {

struct Seats {
  int trainers = 1;     // ranks 0 to trainers - 1
  Arguments arguments;  // theirs: --accumulate is K
  std::string told;     // a line about those that stand by; empty: none does
};

// Decides for a world of `ranks`. B samples of a batch and G of a step are typed, R ranks make a
// replica of E shares (along ep): the largest D trains that R/E · D ranks can have, a multiple of
// E, with D·B dividing G, in K = G/(D·B) batches.
//   Throws  launch::TooFewRanks when `ranks` are less than a replica; UsageError when no D divides
Seats seats_of(const Arguments& arguments, int ranks);

// A rank that stands by calls this; it returns when rank 0 has called tell_trained.
//   told     signals that this rank is told to stop by, if it has such
//   Returns  that signal, or 0
int stand_by(const launch::World& world, launch::StopSignals* told);
void tell_trained(const launch::World& world);

}  // namespace lockstep::apps
