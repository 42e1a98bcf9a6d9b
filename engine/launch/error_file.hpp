// The file in which a rank says why it failed, in torchrun's format, so that either launcher reads
// what either kind of program wrote:
//   {"message": {"message": "…", "extraInfo":
//     {"timestamp": "1700000000", "seconds": 1700000000.25, "blames_peers": true}}}
// Four are ours: `seconds`, the moment by the rank's own clock, finer than torchrun's whole
// seconds; `blames_peers`, which says that the rank failed because another did not answer;
// `ranks_needed`, where the world is too small for it; and `saved`, where it was told to stop.
//
//   Source  PyTorch, torch/distributed/elastic/multiprocessing/errors/error_handler.py
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/base/error.hpp"
#include "engine/launch/environment.hpp"

namespace lockstep::launch {

// The command asks for more ranks than there are. If launchers come and go, the launcher waits for
// them.
struct TooFewRanks : UsageError {
  TooFewRanks(const std::string& what, int ranks) : UsageError(what), ranks_needed(ranks) {}
  int ranks_needed;
};

struct ErrorReport {
  std::string message;
  double seconds = 0;  // since 1970; the file's own time where it names none
  bool blames_peers = false;
  int ranks_needed = 0;  // 0: it says nothing of it
  bool saved = false;    // say_saved
};

// Nothing when there is no such file, or nothing in it that can be read.
std::optional<ErrorReport> read_error_file(const std::string& path);

// The body of a rank: an exception that leaves `run` goes into the file that
// TORCHELASTIC_ERROR_FILE names, if any, and then on to the caller. A CommError blames peers.
int with_error_file(const Lookup& lookup, const std::function<int()>& run);

// For a rank that was told to stop by a signal, and has saved: it ends with code 1, and that is no
// failure if its launcher was about to stop it.
void say_saved(const Lookup& lookup);

double seconds_since_1970();

}  // namespace lockstep::launch
