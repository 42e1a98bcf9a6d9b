// The launcher: N processes of one program on this machine, with torchrun's environment, one store,
// prefixed output, and one report when something fails. Left out: several nodes, restarts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::launch {

// Whose lines begin with "[rank 2] ". With `others`, rank 0 writes to the launcher's own stdout and
// stderr, so that a progress bar on a terminal stays one; with `none` every rank does.
enum class Prefix : std::uint8_t { all, others, none };

struct LaunchOptions {
  std::vector<std::string> command;  // program and arguments
  int ranks = 1;
  int port = 0;  // of the store; 0 takes a free one
  std::string host = "127.0.0.1";
  Prefix prefix = Prefix::all;
  // Between SIGTERM and SIGKILL when the others are stopped. torchrun gives 30 s; here a rank has
  // no state worth that long, and a student waits for the sentence.
  double grace_s = 0.5;
};

// Runs the program until every rank has ended.
//   Returns   0 when every rank exited with 0; 1 otherwise
//   Ensures   the first failure is reported on stderr with rank, pid, exit code or signal and last
//             lines; the others got SIGTERM, then SIGKILL; no process of any rank's group is left
//   Signals   SIGINT, SIGTERM, SIGHUP and SIGQUIT go on to every rank, with the same grace; when
//   the
//             launcher is killed the ranks die with it (grandchildren that outlive a rank may not)
//   Throws    UsageError when the program cannot be started, CommError when the port is in use
//   Source    torchrun's variables and defaults: torch/distributed/elastic
int launch(const LaunchOptions& options);

// What rank `rank` finds in its environment beside `inherited` ("NAME=value" each).
std::vector<std::string> environment_for(int rank, const LaunchOptions& options, int port,
                                         const std::vector<std::string>& inherited);

}  // namespace lockstep::launch
