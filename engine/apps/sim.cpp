// sim: an algorithm on the simulated cluster, every rank a fiber of this process, and what it cost:
// virtual time, messages, bytes, depth.
//   ./lab sim --ranks 1024 ring_all_reduce --count 1024
#include <sys/resource.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "engine/apps/program.hpp"
#include "engine/apps/sim_programs.hpp"
#include "engine/base/options.hpp"
#include "engine/base/stopwatch.hpp"
#include "engine/base/units.hpp"
#include "engine/comm/sim.hpp"
#include "engine/sim/child_run.hpp"
#include "engine/sim/cluster.hpp"
#include "engine/sim/fiber_host.hpp"
#include "engine/tensor/contributors.hpp"
#include "engine/tensor/symbolic.hpp"
#include "engine/trace/page.hpp"

namespace {

using namespace lockstep;
using apps::SimProgram, apps::sim_programs;

const SimProgram& program_of(const std::vector<std::string>& words) {
  std::string known;
  for (const SimProgram& program : sim_programs()) {
    if (words.size() == 1 && words.front() == program.name) return program;
    known += text(known.empty() ? "" : ", ", program.name);
  }
  if (words.empty()) {
    throw UsageError(
        text("what shall run? One of ", known, ", as in: ./lab sim --ranks 8 ring_all_reduce"));
  }
  throw UsageError(
      text("there is no program '", words.back(), "'; one at a time, there are: ", known));
}

struct Setting {
  int ranks;
  std::int64_t count;
  DType dtype;
  bool sizes_only;
  bool prove;
  std::uint64_t seed;
  sim::Network network;
  std::string trace_file;  // "" for none
  sim::Faults faults;
};

DType dtype_named(const std::string& name) {
  for (const DType dtype : all_dtypes) {
    if (name_of(dtype) == name) return dtype;
  }
  throw UsageError(text("there is no element type '", name, "'; try float32 or bfloat16"));
}

sim::Options world_of(const Setting& setting) {
  sim::Options options;
  options.ranks = setting.ranks;
  options.seed = setting.seed;
  options.network = setting.network;
  options.faults = setting.faults;
  options.record = sim::Record::totals;
  options.limits.messages_max = options.limits.requests_max = std::int64_t{1} << 60;
  options.limits.bytes_max = std::int64_t{1} << 60;
  return options;
}

std::optional<sim::Finding> play(sim::Core& core, const Setting& setting, const SimProgram& program,
                                 const sim::FiberOptions& fibers) {
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

trace::Timeline timeline_of(const Setting& setting, const SimProgram& program) {
  trace::Timeline timeline;
  timeline.title = text(program.name, " on ", setting.ranks, " ranks");
  timeline.facts = {{"elements", text(setting.count, " ", name_of(setting.dtype))},
                    {"seed", text(setting.seed)}};
  return timeline;
}

std::string most_and_all(std::int64_t most, std::int64_t all, const char* unit) {
  return text(most, unit, " by the busiest rank, ", all, unit, " by all");
}

void print_report(const sim::Counters& counters, const Setting& setting, double wall_s) {
  sim::RankCounters most, all;
  for (const auto& rank : counters.ranks) {
    most.messages_sent = std::max(most.messages_sent, rank.messages_sent);
    most.bytes_sent = std::max(most.bytes_sent, rank.bytes_sent);
    most.bytes_left_node = std::max(most.bytes_left_node, rank.bytes_left_node);
    all.bytes_left_node += rank.bytes_left_node;
    all.messages_sent += rank.messages_sent;
    all.bytes_sent += rank.bytes_sent;
    all.collectives = std::max(all.collectives, rank.collectives);
  }
  const auto line = [](const char* name, const std::string& value) {
    std::cout << "  " << std::left << std::setw(14) << name << value << "\n";
  };
  line("virtual time", seconds_text(counters.makespan_s));
  line("messages", most_and_all(most.messages_sent, all.messages_sent, ""));
  line("sent", most_and_all(most.bytes_sent, all.bytes_sent, " bytes"));
  if (setting.network.node_of(setting.ranks - 1) > 0) {
    line("left a node", most_and_all(most.bytes_left_node, all.bytes_left_node, " bytes"));
  }
  line("depth", text(counters.depth, " messages, the longest chain"));
  if (all.collectives > 0) line("collectives", text(all.collectives, ", priced, not sent"));
  line("values", setting.prove ? text("every element of a sum holds each of the ", setting.ranks,
                                      setting.ranks == 1 ? " rank once" : " ranks once")
                 : setting.sizes_only ? "none: sizes only"
                                      : "as they must be, on every rank");
  std::ostringstream hash;
  hash << std::hex << std::setw(16) << std::setfill('0') << counters.trace_hash;
  line("trace", hash.str());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  line("simulated in", text(seconds_text(wall_s), ", ",
                            static_cast<std::int64_t>(static_cast<double>(all.messages_sent) /
                                                      std::max(wall_s, 1e-9)),
                            " messages/s, ", usage.ru_maxrss / 1024, " MiB"));
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

int simulate(const Setting& setting, const SimProgram& program, const sim::FiberOptions& fibers) {
  const Stopwatch watch;
  trace::Timeline timeline = timeline_of(setting, program);
  sim::Options world = world_of(setting);
  if (!setting.trace_file.empty()) world.timeline = &timeline;
  sim::Core core(world);
  const auto finding = play(core, setting, program, fibers);
  const double wall_s = watch.seconds();
  if (!setting.trace_file.empty()) trace::write_file(setting.trace_file, ordered(timeline));
  if (finding) throw Error(finding->message);
  print_report(core.counters(), setting, wall_s);
  return 0;
}

int run(int argc, const char* const* argv) {
  Options options("lab sim", "Runs an algorithm on simulated ranks and says what it cost.");
  options.option("ranks", "8", "how many; each is a fiber of this process")
      .option(
          "count", "1024",
          "elements that every rank brings; where it brings a block for each rank, of one block")
      .option("dtype", "float32", "their type")
      .option("cluster", "",
              "the modelled cluster, or a file that ends in .toml; built in are:\n" +
                  sim::list_of_clusters(18))
      .option("seed", "0", "another one lets ranks run in another order")
      .list(
          "fault",
          "kill:RANK@TIME, kill:RANK@step:K (its K-th call), link:A-B:slow:FACTOR or link:A-B:cut; "
          "several may be given")
      .list("slow", "RANK:FACTOR: that rank computes so many times as long")
      .option("jitter", "0", "each latency is up to this share longer, drawn by the seed")
      .option("trace", "", "write the timeline: FILE.html to look at, FILE.json for Perfetto")
      .flag("sizes-only", "messages have sizes and no values: for very many ranks")
      .flag("prove", "with --sizes-only: follow which ranks contributed to each element of a sum")
      .words("PROGRAM",
             "a part of lesson 03 or 06, or all_reduce, which is priced as one operation");
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  const SimProgram& program = program_of(arguments.words());
  constexpr std::int64_t ranks_max = 32'000;  // each stack takes two of the system's mappings
  const std::int64_t ranks = arguments.integer("ranks", 1);
  if (ranks > ranks_max) throw UsageError(text("--ranks ", ranks, " is above ", ranks_max));
  const sim::Network network = network_of(arguments);
  const Setting setting{static_cast<int>(ranks),
                        arguments.integer("count", 0),
                        dtype_named(arguments.get("dtype")),
                        arguments.flag("sizes-only"),
                        arguments.flag("prove"),
                        static_cast<std::uint64_t>(arguments.integer("seed", 0)),
                        network,
                        arguments.get("trace"),
                        faults_of(arguments, static_cast<int>(ranks), network)};
  if (setting.prove && (!setting.sizes_only || program.leaves != apps::Leaves::sums)) {
    throw UsageError(text("--prove follows sums made of messages, without their numbers, as in: ",
                          "./lab sim --sizes-only --prove ring_all_reduce"));
  }
  if (!setting.trace_file.empty()) trace::check_file_name(setting.trace_file);
  std::cout << text(program.name, " of ", setting.count, " ", name_of(setting.dtype), " on ", ranks,
                    ranks == 1 ? " rank\n" : " ranks\n");
  // A part may crash or never end: then this process says whose part it was.
  const auto ran = sim::run_in_child([&](const sim::FiberOptions& fibers) {
    return apps::run_program("lab sim", [&] { return simulate(setting, program, fibers); });
  });
  if (ran.finding) throw Error(ran.finding->message);
  return ran.code;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab sim", [&] { return run(argc, argv); });
}
