// sim: an algorithm on the simulated cluster, every rank a fiber of this process, and what it cost:
// virtual time, messages, bytes, depth.
//   ./lab sim --ranks 1024 ring_all_reduce --count 1024
#include <iostream>

#include "engine/apps/program.hpp"
#include "engine/apps/sim_command_line.hpp"
#include "engine/apps/sim_programs.hpp"
#include "engine/apps/sim_report.hpp"
#include "engine/base/destination.hpp"
#include "engine/base/nearest.hpp"
#include "engine/base/options.hpp"
#include "engine/base/stopwatch.hpp"
#include "engine/base/units.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/child_run.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/sim/model/cluster.hpp"
#include "engine/tensor/contributors.hpp"
#include "engine/tensor/symbolic.hpp"
#include "engine/trace/page.hpp"

namespace {

using namespace lockstep;
using apps::SimProgram, apps::sim_programs;

const SimProgram& program_of(const std::vector<std::string>& words) {
  std::string known;
  std::vector<std::string> names;
  for (const SimProgram& program : sim_programs()) {
    if (words.size() == 1 && words.front() == program.name) return program;
    names.emplace_back(program.name);
    known += text(known.empty() ? "" : ", ", program.name);
  }
  if (words.empty()) {
    throw UsageError(text("name a program to run: one of ", known,
                          ", as in ./lab sim --ranks 8 ring_all_reduce"));
  }
  throw UsageError(text("there is no program '", words.back(), "'",
                        did_you_mean(words.back(), names), " (programs: ", known, ")"));
}

struct SimSetting {
  int ranks;
  std::int64_t count;
  DType dtype;
  bool sizes_only;
  bool prove;
  std::uint64_t seed;
  sim::Network network;
  std::string trace_file;  // "" for none
  sim::Faults faults;
  std::string traffic;  // of "ranks" or "nodes"; "none"
};

DType dtype_named(const std::string& name) {
  for (const DType dtype : all_dtypes) {
    if (name_of(dtype) == name) return dtype;
  }
  throw UsageError(text("there is no element type '", name, "'; try float32 or bfloat16"));
}

sim::Options world_of(const SimSetting& setting) {
  sim::Options options;
  options.ranks = setting.ranks;
  options.seed = setting.seed;
  options.network = setting.network;
  options.faults = setting.faults;
  options.record = setting.traffic == "none" ? sim::Record::totals : sim::Record::everything;
  options.limits.messages_max = options.limits.requests_max = std::int64_t{1} << 60;
  options.limits.bytes_max = std::int64_t{1} << 60;
  return options;
}

std::optional<sim::Finding> play(sim::Core& core, const SimSetting& setting,
                                 const SimProgram& program, const sim::FiberOptions& fibers) {
  ContributorWorld contributors;
  std::vector<std::unique_ptr<ContributorDevice>> sets;  // what one sends outlives its program
  for (int rank = 0; setting.prove && rank < setting.ranks; ++rank) {
    sets.push_back(std::make_unique<ContributorDevice>(contributors, rank));
  }
  const auto run_rank = [&](sim::FiberRank& self) {
    SymbolicDevice symbolic;
    CpuDevice numbers;
    Device& sizes =
        setting.prove ? static_cast<Device&>(*sets[static_cast<std::size_t>(self.rank)]) : symbolic;
    Device& own = setting.sizes_only ? sizes : numbers;
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    program.run({*group, setting.count, setting.dtype, own, setting.network.ranks_per_node});
  };
  return sim::run_fibers(core, run_rank, fibers).finding;
}

trace::Timeline timeline_of(const SimSetting& setting, const SimProgram& program) {
  trace::Timeline timeline;
  timeline.title = text(program.name, " on ", counted(setting.ranks, "rank"));
  timeline.facts = {{"elements", text(setting.count, " ", name_of(setting.dtype))},
                    {"seed", text(setting.seed)}};
  return timeline;
}

// Without a cluster, every pair of ranks is joined by an equal link.
sim::Network network_of(const Arguments& arguments) {
  return arguments.given("cluster") ? sim::cluster_of(arguments.get("cluster")).network
                                    : sim::Network{};
}

sim::Faults faults_of(const Arguments& arguments, int ranks, const sim::Network& network) {
  sim::Faults faults;
  for (const std::string& words : arguments.list("fault")) sim::add_fault(faults, words);
  for (const std::string& words : arguments.list("slow")) sim::add_slow(faults, words);
  faults.jitter = arguments.number("jitter", 0);
  sim::check_faults(faults, ranks, network);
  return faults;
}

enum class Form : std::uint8_t { words, json };

apps::SimReport report_of(const SimSetting& setting, const SimProgram& program) {
  return {.program = program.name,
          .ranks = setting.ranks,
          .count = setting.count,
          .dtype = setting.dtype,
          .sizes_only = setting.sizes_only,
          .proved = setting.prove,
          .several_nodes = setting.network.node_of(setting.ranks - 1) > 0};
}

int simulate(const SimSetting& setting, const SimProgram& program, const sim::FiberOptions& fibers,
             Form form) {
  if (form == Form::words) {  // at once: a part may crash
    std::cout << text(program.name, " of ", setting.count, " ", name_of(setting.dtype), " on ",
                      counted(setting.ranks, "rank"), "\n")
              << std::flush;
  }
  const Stopwatch watch;
  trace::Timeline timeline = timeline_of(setting, program);
  sim::Options world = world_of(setting);
  if (!setting.trace_file.empty()) world.timeline = &timeline;
  sim::Core core(world);
  apps::SimReport report = report_of(setting, program);
  report.finding = play(core, setting, program, fibers);
  report.wall_s = watch.seconds();
  report.counters = core.counters();
  if (!setting.trace_file.empty()) trace::write_file(setting.trace_file, ordered(timeline));
  if (form == Form::json) {
    print_json(report);
    return report.finding ? 1 : 0;
  }
  if (report.finding) throw Error(report.finding->message);
  print_words(report);
  if (setting.traffic != "none") print_traffic(report, setting.network, setting.traffic);
  return 0;
}

int run(int argc, const char* const* argv) {
  const Options options = apps::sim_options();
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  apps::leave_to_lab(arguments, {"with"}, "./lab sim");
  const SimProgram& program = program_of(arguments.words());
  constexpr std::int64_t ranks_max = 32'000;  // each stack takes two of the system's mappings
  const std::int64_t ranks = arguments.integer("ranks", 1);
  if (ranks > ranks_max) throw UsageError(text("--ranks ", ranks, " is above ", ranks_max));
  const sim::Network network = network_of(arguments);
  const SimSetting setting{static_cast<int>(ranks),
                           arguments.integer("count", 0),
                           dtype_named(arguments.get("dtype")),
                           arguments.flag("sizes-only"),
                           arguments.flag("prove"),
                           static_cast<std::uint64_t>(arguments.integer("seed", 0)),
                           network,
                           arguments.get("trace"),
                           faults_of(arguments, static_cast<int>(ranks), network),
                           arguments.get("traffic")};
  if (setting.prove && (!setting.sizes_only || program.leaves != apps::Leaves::sums)) {
    throw UsageError(text("--prove works for sums built from messages, with --sizes-only, as in ",
                          "./lab sim --sizes-only --prove ring_all_reduce"));
  }
  if (!setting.trace_file.empty()) {
    trace::check_file_name(setting.trace_file);
    check_destination("--trace", setting.trace_file);
  }
  const Form form = arguments.flag("json") ? Form::json : Form::words;
  // A part may crash or never end: then this process says whose part it was.
  const auto ran = sim::run_in_child([&](const sim::FiberOptions& fibers) {
    return apps::run_program("lab sim", [&] { return simulate(setting, program, fibers, form); });
  });
  if (ran.finding && form == Form::json) {
    apps::SimReport report = report_of(setting, program);
    report.finding = ran.finding;
    print_json(report);
    return 1;
  }
  if (ran.finding) throw Error(ran.finding->message);
  return ran.code;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab sim", [&] { return run(argc, argv); });
}
