#include "engine/apps/run_command_line.hpp"

namespace lockstep::apps {

Options run_options() {
  Options options(
      "lab run",
      "Starts PROGRAM once per rank, on one or more machines, and stops all ranks if one fails.");
  options.option("ranks", "1", "number of processes on this node");
  options.choice(
      "prefix", {"all", "others", "none"}, "all",
      "ranks whose lines are prefixed with [rank R]; otherwise rank 0 keeps the terminal");
  options.option(
      "max-restarts", "0",
      "how often to restart all ranks after a failure; after exit code 2, wrong usage, none");
  options.option("grace", "0.5", "seconds between SIGTERM and SIGKILL when ranks are stopped");
  options.option("log-dir", "", "folder for each rank's stdout.log, stderr.log and error.json");
  options.option("nnodes", "1",
                 "number of nodes; run the same command on each, or start it with mpirun or srun, "
                 "which set the rest. MIN:MAX: nodes may come and go, and each change restarts all "
                 "ranks");
  options.option("node-rank", "", "number of this node (default: by order of arrival)");
  options.option(
      "rdzv-endpoint", "",
      "HOST:PORT at which the launchers meet: an address of node 0 (default port: 29400)");
  options.option("rdzv-timeout", "600", "seconds to wait for the other nodes");
  options.option("last-call", "3",
                 "with --nnodes MIN:MAX: seconds to wait for more than MIN nodes");
  options.only_if({"last-call"}, "belongs to --nnodes MIN:MAX; leave it out",
                  [](const Arguments& arguments) {
                    return arguments.get("nnodes").find(':') != std::string::npos;
                  });
  options.option("rdzv-id", "",
                 "name of this run, for its ranks and its log folder (default: a new one)");
  options.option("local-addr", "", "address at which other nodes reach this one");
  options.option("port", "0", "port of the store at which the ranks meet; 0: any free port");
  options.option("master-port", "0",
                 "MASTER_PORT, at which rank 0 of a PyTorch program listens; 0: any free port");
  options.choice("with", {"work"}, "",
                 "for a PROGRAM of the engine: use your own parts, if they pass, instead of the "
                 "references");
  options.choice("backend", {"gloo", "nccl"}, "",
                 "for a PROGRAM of the engine: passes this on to it; nccl: each rank has a GPU");
  options.rest("PROGRAM ARGS", "the program and its arguments");
  return options;
}

}  // namespace lockstep::apps
