// lockstep-run: starts a program once per rank, as torchrun does.
#include <iostream>

#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/launch/launcher.hpp"

namespace {

using namespace lockstep;

// At most `most`: what was typed is what the sentence names.
int count_of(const Arguments& arguments, const std::string& name, int at_least, int most,
             const std::string& advice) {
  const std::int64_t typed = arguments.integer(name, at_least);
  if (typed <= most) return static_cast<int>(typed);
  throw UsageError(text("--", name, " ", typed, " is more than ", most, advice));
}

int run(int argc, const char* const* argv) {
  Options options("lab run", "Starts PROGRAM once per rank on this machine and watches over it.");
  options.option("ranks", "1", "how many processes to start");
  options.option("port", "0", "port of the store the ranks meet at; 0 takes a free one");
  options.choice("prefix", {"all", "others", "none"}, "all",
                 "whose lines begin with [rank R]; with others, rank 0 keeps the terminal");
  options.rest("PROGRAM ARGS", "the program and its arguments");
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  launch::LaunchOptions launch;
  launch.command = arguments.rest();
  launch.ranks = count_of(arguments, "ranks", 1, 4096, "");
  launch.port =
      count_of(arguments, "port", 0, 65535, ", the last port there is; 0 takes a free one");
  const std::string& prefix = arguments.get("prefix");
  launch.prefix = prefix == "all"      ? launch::Prefix::all
                  : prefix == "others" ? launch::Prefix::others
                                       : launch::Prefix::none;
  return launch::launch(launch);
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab run", [&] {
    try {
      return run(argc, argv);
    } catch (const CommError& error) {  // the launcher itself talks to nobody: its port is in use
      throw UsageError(error.what());
    }
  });
}
