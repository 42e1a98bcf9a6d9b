// How a rank ended, and which of several failures was the first. Pure: nothing is asked of anybody.
//
// When one rank fails the others fail too, because they wait for it. The cause is found so:
//   1. A rank that was killed comes before ranks that ended by themselves: peers notice a kill and
//      end, not the other way round. SIGABRT is an end of its own: an exception that nobody caught.
//      So is that of a rank which its launcher stopped after it had said why it fails.
//   2. A rank that ended by itself comes before one that blames its peers: that left with a
//      CommError, or that was killed by SIGPIPE, as one is that writes to a peer which is gone.
//   3. Otherwise the earliest by the ranks' own clocks: a rank says when it failed in its error
//      file, and without one the moment counts at which its launcher saw it end.
// Clocks of different nodes are compared as they stand; where they are apart, so may the answer be.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lockstep::launch {

struct Failure {
  int rank = 0;
  int node = 0;
  std::string host;  // of the node
  int pid = 0;
  int status = 0;                 // as wait() gives it
  double seconds = 0;             // since 1970: when it failed
  std::string message;            // from its error file; may be empty
  bool blames_peers = false;      // likewise: it failed because another rank did not answer
  bool stopped = false;           // its launcher stopped it before it had ended by itself
  bool spare = false;             // the others could do without it
  std::vector<std::string> last;  // the last lines it printed; empty where they were not read
  bool saved = false;             // it was told to stop by a signal, has saved, and ended for that
  int ranks_needed = 0;           // it refused the world as too small; 0: it did not
};

std::string name_of_signal(int number);  // "SIGTERM"
std::string text_of_status(int status);  // "exited with code 7", "was killed by signal 9 (SIGKILL)"

// True if others may have failed before it: rule 2.
bool is_reaction(const Failure& failure);

// The exit code of a program that was typed wrongly, or given a wrong input.
constexpr int refusal_code = 2;

// True if that is how every rank ended that failed by itself. What reacts to a failure, or was
// stopped, says nothing of the cause; a signal, and any other code, may not come again.
bool is_refusal(std::span<const Failure> failures);

// By the order above; equal ones stay as they are.
std::vector<Failure> in_order(std::vector<Failure> failures);

// The report for a person: the first failure with its message and last lines, and a line with the
// rest.
//   Requires  in_order, and not empty
std::string report_of(std::span<const Failure> failures, int world_size, int nodes, int stopped);

}  // namespace lockstep::launch
