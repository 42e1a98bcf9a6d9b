// lockstep-run: starts a program once per rank, as torchrun does.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "engine/apps/program.hpp"
#include "engine/apps/run_command_line.hpp"
#include "engine/apps/torchrun_words.hpp"
#include "engine/base/error.hpp"
#include "engine/launch/address.hpp"
#include "engine/launch/launcher.hpp"
#include "engine/launch/schedulers.hpp"

namespace {

using namespace lockstep;

// At most `most`: what was typed is what the sentence names.
int count_of(const Arguments& arguments, const std::string& name, int at_least, int most,
             const std::string& advice) {
  const std::int64_t typed = arguments.integer(name, at_least);
  if (typed <= most) return static_cast<int>(typed);
  throw UsageError(text("--", name, " ", typed, " is more than ", most, advice));
}

constexpr int nodes_max = 4096;

// "--nnodes 1:4".
void read_range(const Arguments& arguments, launch::NodeOptions& nodes) {
  const std::string& typed = arguments.get("nnodes");
  const std::size_t colon = typed.find(':');
  const auto number_in = [&](const std::string& digits) {
    const bool is_number = !digits.empty() && digits.size() <= 6 &&
                           digits.find_first_not_of("0123456789") == std::string::npos;
    const int number = is_number ? std::stoi(digits) : 0;
    if (number >= 1 && number <= nodes_max) return number;
    throw UsageError(text("--nnodes ", typed, " is not MIN:MAX, two numbers from 1 to ", nodes_max,
                          "; type --nnodes 1:4, for example"));
  };
  const int least = number_in(typed.substr(0, colon));
  nodes.count = number_in(typed.substr(colon + 1));
  if (least > nodes.count) {
    throw UsageError(text("--nnodes ", typed, ": MIN is more than MAX; did you mean ", nodes.count,
                          ":", least, "?"));
  }
  if (nodes.count == 1) return;  // torchrun's 1:1 is one node
  nodes.elastic = launch::ElasticOptions{least, arguments.number("last-call", 0)};
  if (launch::nodes_of_job(launch::process_environment())) {
    throw UsageError(text("--nnodes ", typed,
                          ": mpirun or srun has started several launchers here, ",
                          "whose number is fixed, and ends all when one is lost: leave --nnodes ",
                          "out, or start ./lab run on each node by itself"));
  }
}

launch::NodeOptions node_options(const Arguments& arguments) {
  constexpr int torchrun_port = 29400;
  launch::NodeOptions nodes;
  if (!arguments.given("nnodes") && !arguments.given("rdzv-endpoint")) {
    nodes = launch::nodes_of_job(launch::process_environment()).value_or(nodes);
  }
  nodes.timeout_s = arguments.number("rdzv-timeout", 0);
  nodes.local_addr = arguments.get("local-addr");
  if (nodes.count > 1) return nodes;
  if (arguments.get("nnodes").find(':') != std::string::npos) {
    read_range(arguments, nodes);
  } else {
    nodes.count = count_of(arguments, "nnodes", 1, nodes_max, "");
  }
  if (arguments.given("node-rank")) {
    nodes.rank = count_of(arguments, "node-rank", 0, nodes.count - 1,
                          text(": with --nnodes ", nodes.count, ", node numbers start at 0"));
  }
  if (arguments.given("rdzv-endpoint")) {
    nodes.endpoint =
        launch::endpoint_in(arguments.get("rdzv-endpoint"), torchrun_port, "--rdzv-endpoint");
  } else if (nodes.count > 1) {
    throw UsageError(text("--nnodes ", arguments.get("nnodes"),
                          " needs --rdzv-endpoint HOST:PORT, an address ",
                          "of node 0 that every node can reach"));
  }
  return nodes;
}

// To a program that lies beside this one; others would not know the option.
void pass_on_backend(const Arguments& arguments, std::vector<std::string>& command) {
  namespace fs = std::filesystem;
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  if (command.empty()) return;
  if (fs::weakly_canonical(command.front()).parent_path() != here) {
    throw UsageError(text("--backend is for programs of the engine, such as ",
                          (here / "train").string(), ", and '", command.front(),
                          "' is another one: leave it out, or pass PROGRAM options of its own"));
  }
  command.insert(command.begin() + 1, {"--backend", arguments.get("backend")});
}

// torchrun puts Python in front of a script; here, what is typed is what is started.
void refuse_script(const std::vector<std::string>& command) {
  if (command.empty() || !command.front().ends_with(".py")) return;
  if (command.front().find('/') != std::string::npos &&
      access(command.front().c_str(), X_OK) == 0) {
    return;
  }
  throw UsageError(text(command.front(), " is a Python script, and cannot be started by itself: ",
                        "type -- python3 ", command.front()));
}

int run(int argc, const char* const* argv) {
  const Options options = apps::run_options();
  const apps::OurWords ours(argc, argv, options);
  const Arguments arguments = options.parse(ours.argc(), ours.argv());
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  apps::leave_to_lab(arguments, {"with"}, "./lab run");
  constexpr const char* last_port = ", the highest port; 0: any free port";
  launch::LaunchOptions launch;
  launch.command = arguments.rest();
  refuse_script(launch.command);
  if (arguments.given("backend")) pass_on_backend(arguments, launch.command);
  launch.ranks = count_of(arguments, "ranks", 1, 4096, "");
  launch.port = count_of(arguments, "port", 0, 65535, last_port);
  launch.master_port = count_of(arguments, "master-port", 0, 65535, last_port);
  launch.max_restarts = count_of(arguments, "max-restarts", 0, 1'000'000, "");
  launch.grace_s = arguments.number("grace", 0);
  launch.run_id = arguments.get("rdzv-id");
  launch.log_dir = arguments.get("log-dir");
  launch.nodes = node_options(arguments);
  // Ranks that are stopped because others come save what they have, as torchrun's may.
  constexpr double save_s = 30;
  if (launch.nodes.elastic) launch.interrupt_grace_s = std::max(save_s, launch.grace_s);
  const std::string& prefix = arguments.get("prefix");
  launch.prefix = prefix == "all"      ? launch::Prefix::all
                  : prefix == "others" ? launch::Prefix::others
                                       : launch::Prefix::none;
  return launch::launch(launch);
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab run", [&] { return run(argc, argv); });
}
