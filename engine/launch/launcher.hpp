// The launcher: one process of one program per rank, on one node or several, with torchrun's
// environment, one store, prefixed output, restarts, and one report of what failed first.
//
// Several nodes. The same command is typed on each node, with the same --rdzv-endpoint. The
// launcher that serves that address is node 0; the others connect to it and keep the connection.
// Each says how many ranks it starts; node 0 numbers the nodes, hosts the store, and decides for
// all (coordinator.hpp): a failure anywhere reaches every launcher at once, over these connections,
// and so does the loss of a launcher. With a number of nodes, membership is fixed for the run, as
// in torchrun's static rendezvous. With MIN:MAX, launchers come and go: each change begins a round,
// with as many ranks as are there then, and new numbers. A rank reads in its environment which
// round it is in, and train continues from its checkpoints.
//
// What a rank finds in its environment: every variable of torchrun's, with its meaning, and
//   LOCKSTEP_STORE   HOST:PORT of our store, hosted by node 0's launcher, new for each attempt
//   LOCKSTEP_ADDR    this node's address as its peers reach it
//   LOCKSTEP_SPARE   a file that a rank makes when the others can do without it
//   LOCKSTEP_ROUND   the number of the round, where launchers come and go; a round that an arrival
//                    has begun has no higher restart count
// Our store does not speak the protocol of PyTorch's TCPStore, so TORCHELASTIC_USE_AGENT_STORE is
// False where torchrun says True, and MASTER_PORT is a port on node 0 that is kept free for rank 0:
// a PyTorch script's rank 0 hosts its own TCPStore there, and init_process_group() just works.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/endpoint.hpp"

namespace lockstep::launch {

// The ranks whose lines begin with "[rank 2] ". With `others`, rank 0 writes to the launcher's own
// stdout and stderr, so that a progress bar on a terminal stays one; with `none` every rank does.
enum class Prefix : std::uint8_t { all, others, none };

// The options of a run whose launchers come and go.
struct ElasticOptions {
  int nodes_min = 1;       // NodeOptions::count is the most
  double last_call_s = 3;  // to wait for more than nodes_min; torchrun's is 30
};

struct NodeOptions {
  int count = 1;
  std::optional<ElasticOptions> elastic = std::nullopt;  // none: membership is fixed
  std::optional<int> rank;  // none: in the order of arrival, 0 where the endpoint is served
  comm::Endpoint endpoint;  // where the launchers meet; port 0 takes a free one and prints it
  std::string local_addr;   // this node as its peers reach it; empty: the route tells
  double timeout_s = 600;   // until all launchers are there, torchrun's
};

struct LaunchOptions {
  std::vector<std::string> command;  // program and arguments
  std::function<int()> body;  // or, instead of one, what each forked process runs (spawn.hpp)
  int ranks = 1;              // on this node; other nodes may start other numbers
  int port = 0;               // of the store; 0 takes a free one
  int master_port = 0;        // MASTER_PORT; 0 takes a free one, anew for each attempt
  Prefix prefix = Prefix::all;
  // Between SIGTERM and SIGKILL when ranks are stopped. torchrun gives 30 s; here a rank has no
  // state worth that long, and a student waits for the sentence.
  double grace_s = 0.5;
  // The same after a signal to the launcher, where ranks save what they have; empty: as grace_s.
  std::optional<double> interrupt_grace_s = std::nullopt;
  int max_restarts = 0;  // of all ranks; node 0's number counts
  // TORCHELASTIC_RUN_ID, by which a rank knows what this run has saved; node 0's counts. Empty: one
  // of its own. "none", torchrun's default, names no run.
  std::string run_id = "none";
  std::string log_dir;  // empty: no logs are kept
  NodeOptions nodes;
};

// Runs the program until every rank on every node has ended.
//   Returns   0 when every rank of the last attempt exited with 0; 1 otherwise, whatever the rank's
//             own code was
//   Ensures   what failed first is reported on every node's stderr (failure.hpp); the other ranks
//             got SIGTERM, then SIGKILL; no process that a rank started is left on this node
//   Spares    a rank that has called World::be_spare ends nothing when it fails: the others go on,
//             and the run has failed when they have ended. No attempt is made again for it. Spares
//             that still run 5 s after all others have ended are killed. Only on a single node:
//             with several, every rank is needed, but those that stand by (World::stand_by)
//   Restarts  while attempts are left, all ranks on all nodes are started again after a failure,
//             with TORCHELASTIC_RESTART_COUNT one higher; not after an interrupt, after a lost
//             launcher, or when every rank that failed ended with code 2: the command is wrong.
//             Where launchers come and go, as coordinator.hpp says
//   Logs      LOG_DIR/<run id>_<six letters>/attempt_<k>/<local rank>/stdout.log, stderr.log and
//             error.json, as torchrun's, and what is printed is not changed by them
//   Signals   SIGINT, SIGTERM, SIGHUP and SIGQUIT go on to every rank of this node, with the same
//             grace, and end the run on all nodes. SIGUSR1 and SIGUSR2 go on to them as well, and
//             the run goes on; with torchrun they end it
//   Throws    UsageError when the program cannot be started, a port is in use or node numbers
//             clash; CommError naming the nodes that did not come in time
//   Requires  no other thread in this process, and no child of its own during the call
//   Source    PyTorch, torch/distributed/run.py and torch/distributed/elastic/agent/server
int launch(const LaunchOptions& options);

// The same, and the report of the last attempt comes back instead of being printed.
struct Ending {
  int code = 0;
  std::string report;  // empty when all went well
};
Ending run_ranks(const LaunchOptions& options);

}  // namespace lockstep::launch
