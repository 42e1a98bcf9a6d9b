// The options of a run, compared between its ranks before they have a group. A rank that was given
// others may stand in other groups, choose another transport, or take other steps; so the store,
// which the ranks share whatever their options are, is where they compare.
//
// Every option is compared, unless it says where it is declared that ranks may differ in it
// (Options::shared).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/options.hpp"
#include "engine/comm/store.hpp"
#include "engine/launch/world.hpp"

namespace lockstep::launch {

// The options that ranks must have alike, a line each, in the order of `names`. Typed or by default
// is all one, and so is how a number is written: "--lr 0.001", "no --masters", "--checkpoint" of an
// option of which only the presence counts.
std::vector<std::string> shared_options(const Arguments& arguments,
                                        std::span<const std::string> names);

// Returns when all `size` ranks have called this, and have the same lines.
//   lines  none has a line break
//   Comm   two waits for all ranks, and at most five calls of the store besides
//   Throws UsageError, the same on every rank, with the lowest rank whose lines differ from rank
//          0's, and with both sides of each; RanksMissing with those that did not come; CommError
void check_same_command(comm::Store& store, int rank, int size, std::span<const std::string> lines,
                        double timeout_s = 30);

// The world of a launcher, whose ranks have compared their commands; --ranks is as many by default.
//   Throws  as join_world and check_same_command
std::unique_ptr<World> join_alike(const Lookup& lookup, const Arguments& arguments,
                                  std::span<const std::string> names, double timeout_s = 30);

}  // namespace lockstep::launch
