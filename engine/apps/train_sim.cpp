#include "engine/apps/train_sim.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "engine/apps/host_products.hpp"
#include "engine/apps/program.hpp"
#include "engine/apps/train_files.hpp"
#include "engine/apps/train_rank.hpp"
#include "engine/base/stopwatch.hpp"
#include "engine/base/units.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/sim/core/services.hpp"
#include "engine/sim/hosts/child_run.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/sim/model/cluster.hpp"
#include "engine/trace/page.hpp"

namespace lockstep::apps {
namespace {

// Kernels of a library want more stack than the simulator's own code.
constexpr std::size_t stack_bytes = std::size_t{8} << 20;
constexpr double idle_s = 3600;  // a step of a large model computes for long

sim::Options world_of(const Arguments& arguments, const sim::Cluster& cluster, int ranks) {
  sim::Options options;
  options.network = cluster.network;
  options.ranks = ranks;
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  options.record = sim::Record::totals;
  options.limits.messages_max = options.limits.requests_max = std::int64_t{1} << 60;
  options.limits.bytes_max = std::int64_t{1} << 60;
  for (const std::string& words : arguments.list("fault")) add_fault(options.faults, words);
  for (const std::string& words : arguments.list("slow")) add_slow(options.faults, words);
  options.faults.count = sim::Faults::Count::steps;
  options.faults.jitter = arguments.number("jitter", 0);
  check_faults(options.faults, ranks, cluster.network);
  return options;
}

// The last step is the steady one: the first make buckets and the optimizer's state.
struct LastStep final : train::Observer {
  const comm::SimulatedDevice* device = nullptr;  // of the rank, while it trains
  std::function<void(std::int64_t)> next;         // is told which step the rank begins
  double slower = 1;                              // than the others, by --slow
  train::StepReport report;
  double computed_s = 0;

  void on_step(const train::StepReport& step) override {
    report = step;
    next(step.step + 1);
    computed_s = slower * (device->charged_s() - charged_before_s_);
    charged_before_s_ = device->charged_s();
  }
  // After an evaluation.
  void on_epoch(const train::EpochReport&) override { charged_before_s_ = device->charged_s(); }
  void on_end(const train::Summary&) override {}

 private:
  double charged_before_s_ = 0;
};

std::string percent(double share) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << 100 * share << " %";
  return out.str();
}

// The results of a run: what rank 0 saw, and what each rank did.
struct Seen {
  Trained trained;
  std::vector<LastStep> last;
  std::vector<std::int64_t> memory_peak, host_peak;
};

// Ranks that take a step together wait for the one that computes the longest.
//   "1.204 ms on rank 0, 3.611 ms on all ranks together, for rank 3"
std::string waiting_text(const std::vector<LastStep>& last) {
  const auto [least, most] = std::ranges::minmax_element(last, {}, &LastStep::computed_s);
  double lost_s = 0;
  for (const LastStep& of_rank : last) lost_s += most->computed_s - of_rank.computed_s;
  return text(seconds_text(most->computed_s - least->computed_s), " on rank ", least - last.begin(),
              ", ", seconds_text(lost_s), " on all ranks together, for rank ", most - last.begin());
}

// "27.64 GB of 80.00 GB on every rank"
std::string memory_text(const std::vector<std::int64_t>& peak, std::int64_t all) {
  const auto [least, most] = std::minmax_element(peak.begin(), peak.end());
  return text(bytes_text(*most), " of ", bytes_text(all),
              *least == *most ? " on every rank"
                              : text(" on rank ", most - peak.begin(), ", ", bytes_text(*least),
                                     " on rank ", least - peak.begin()));
}

// Also where the rank ends by an exception.
struct NamesAtTheEnd {
  const RankTrace& trace;
  trace::Timeline* timeline;  // none: nobody draws
  ~NamesAtTheEnd() {
    if (timeline != nullptr) trace.name_computing(*timeline);
  }
};

// The parameters of experts by which a token is not computed, on average.
double idle_parameters(const nn::GptOptions& gpt) {
  const nn::MixtureOptions& mixture = gpt.mixture;
  if (mixture.experts == 0) return 0;
  const auto experts = static_cast<double>(mixture.experts);
  const bool tokens_choose = mixture.router == nn::Router::tokens;
  const double of_token =
      tokens_choose ? static_cast<double>(mixture.top_k) : std::min(mixture.capacity, experts);
  const auto width = static_cast<double>(gpt.width), layers = static_cast<double>(gpt.layers);
  return (experts - of_token) * layers * (8 * width * width + 5 * width);
}

// FLOPs of a step that the model asks for, recomputation not counted: 6 a parameter and token, and
// 12·T·C a layer and token for attention over T tokens [PALM22] appendix B.
double model_flops(const nn::ModelSpec& spec, std::int64_t parameters, double samples) {
  const auto p = static_cast<double>(parameters);
  if (spec.kind == nn::ModelKind::mlp) return 6 * p * samples;
  const double computing = p - idle_parameters(spec.gpt);
  const auto length = static_cast<double>(spec.gpt.sequence);
  const double attention = 12 * length * static_cast<double>(spec.gpt.width * spec.gpt.layers);
  return (6 * computing + attention) * length * samples;
}

void print_report(const Seen& seen, const Arguments& arguments, const nn::ModelSpec& spec,
                  const train::TrainOptions& options, const sim::Cluster& cluster) {
  const train::ChosenWays ways(arguments);
  const auto line = [](const char* name, const std::string& value) {
    std::cout << "  " << std::left << std::setw(15) << name << value << "\n";
  };
  const train::StepReport& last = seen.last.front().report;
  const auto ranks = static_cast<int>(seen.last.size());
  const auto samples =
      static_cast<double>(options.batch_size * options.accumulate * ways.shares(arguments, ranks));
  const double step_s = samples / last.samples_per_s;
  std::cout << "the last step, in virtual time on " << cluster.name << ":\n";
  line("step", seconds_text(step_s));
  if (const auto hidden = last.communication.hidden()) {
    line("communication",
         text(seconds_text(last.communication.total_s), ", of which ", percent(*hidden),
              " is hidden and ", seconds_text(last.communication.exposed_s), " exposed"));
    // Workers of servers do not wait for each other, and stages wait for other reasons, too.
    if (arguments.given("slow") && ways.trainer().pace() == train::Pace::together) {
      line("lost waiting", waiting_text(seen.last));
    }
  }
  if (const double exchange_s = last.exchange.total_s; exchange_s > 0) {
    line("all-to-all",
         text(seconds_text(exchange_s), " of experts, ", percent(exchange_s / step_s),
              " of the step, of which ", seconds_text(last.exchange.exposed_s), " is exposed"));
  }
  const double flops = model_flops(spec, seen.trained.parameters, samples);
  const sim::DeviceModel& device = cluster.device;
  const double peak = device.flops_s(spec.dtype) / device.flops_achieved;
  line("utilisation", text(percent(flops / (step_s * ranks * peak)), " (MFU) of ", peak / 1e12,
                           " TFLOP/s a rank"));
  line("memory", memory_text(seen.memory_peak, device.memory_bytes));
  if (!last.host) return;
  const auto& [bytes, total_s, exposed_s] = *last.host;
  line("host's memory", memory_text(seen.host_peak, cluster.share_of_host(ranks).memory_bytes));
  line("host's link",
       text(bytes_text(bytes.down), " down and ", bytes_text(bytes.up), " up in ",
            seconds_text(total_s), ", of which ", seconds_text(exposed_s), " is exposed"));
}

void print_cost(const sim::Counters& counters, const sim::Network& network, double wall_s) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << "simulated " << seconds_text(counters.makespan_s) << " of "
            << counted(std::ssize(counters.ranks), "rank") << " in " << seconds_text(wall_s)
            << " and " << usage.ru_maxrss / 1024 << " MiB\n";
  if (network.node_of(static_cast<int>(counters.ranks.size()) - 1) == 0) return;
  sim::SentBytes sent = counters.by_collectives;
  for (const sim::RankCounters& rank : counters.ranks) {
    sent += {rank.bytes_sent, rank.bytes_left_node};
  }
  std::cout << "sent by all ranks: " << bytes_text(sent.all - sent.left_node) << " within nodes, "
            << bytes_text(sent.left_node) << " between them\n";
}

train::DeviceRoom room_of(const sim::Cluster& cluster) {
  train::DeviceRoom room{cluster.device.name, cluster.device.memory_bytes,
                         cluster.network.ranks_per_node};
  if (cluster.host) {
    room.host_bytes = [&](int ranks) { return cluster.share_of_host(ranks).memory_bytes; };
  }
  return room;
}

// The share of a rank in its node's host, where the cluster has a host.
class RankHost {
 public:
  RankHost(sim::FiberRank& self, const sim::Cluster& cluster, DType dtype, comm::Elements elements)
      : port_(self.port) {
    if (!cluster.host) return;
    device_.emplace(port_, self.rank, cluster.share_of_host(self.ranks), dtype, elements,
                    host_products());
    memory_.emplace(HostMemory{*device_, [this, &model = *cluster.host](std::int64_t bytes) {
                                 port_.wait_until(port_.now_s() + model.copy_s(bytes));
                               }});
  }
  const HostMemory* memory() const { return memory_ ? &*memory_ : nullptr; }
  std::int64_t bytes_peak() const { return device_ ? device_->bytes_peak() : 0; }

 private:
  sim::Port& port_;
  std::optional<comm::SimulatedDevice> device_;
  std::optional<HostMemory> memory_;
};

int train_on_fibers(const Arguments& arguments, int ranks, const sim::FiberOptions& fibers) {
  const Stopwatch watch;
  const Datasets datasets = open_datasets(arguments);
  check_run(arguments, datasets, ranks);
  const nn::ModelSpec spec = model_spec(arguments, *datasets.train);
  const train::TrainOptions options = loop_options(arguments);
  const sim::Cluster cluster = sim::cluster_of(arguments.get("cluster"));
  const train::ChosenWays ways(arguments);
  ways.check_memory(
      arguments,
      {.model = spec,
       .optimizer = optimizer_spec(arguments),
       .precision = train::precision_of(arguments)},
      train::batch_sizes(options, datasets.train->size(), ways.shares(arguments, ranks)),
      room_of(cluster));
  const auto elements =
      arguments.flag("sizes-only") ? comm::Elements::none : comm::Elements::numbers;

  const auto solo = comm::make_solo_group();
  const auto beginning =
      checkpoint::agree_on_beginning(*solo, wish_of(arguments, launch::process_environment()));
  const auto count = static_cast<std::size_t>(ranks);
  Seen seen{{},
            std::vector<LastStep>(count),
            std::vector<std::int64_t>(count),
            std::vector<std::int64_t>(count)};
  std::exception_ptr failure;  // the first: the others fail because of it
  const bool draws = arguments.given("trace");
  trace::Timeline timeline;
  sim::Options simulated = world_of(arguments, cluster, ranks);
  if (draws) simulated.timeline = &timeline;
  for (const auto& [rank, slower] : simulated.faults.slow) {
    seen.last[static_cast<std::size_t>(rank)].slower *= slower;
  }
  // Workers come to a server in the order of virtual time, not of fibers: a core that has a service
  // goes by it (core.hpp, Order).
  sim::StoreService nobody_asks;
  if (ways.trainer().pace() == train::Pace::apart) simulated.services.push_back(&nobody_asks);
  sim::Core core(simulated);
  const auto result = sim::run_fibers(
      core,
      [&](sim::FiberRank& self) {
        try {
          comm::SimulatedDevice device(self.port, self.rank, cluster.device, spec.dtype, elements,
                                       host_products());
          const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
          const RankHost host(self, cluster, spec.dtype, elements);
          RankWorld world{*group, device, self.strands};
          world.host = host.memory();
          world.beginning = &beginning;
          world.ranks_per_node = cluster.network.ranks_per_node;
          RankTrace trace(*group, device);
          const NamesAtTheEnd names{trace, draws ? &timeline : nullptr};
          if (draws) {
            world.trace = &trace;
            device.tell([&trace] { trace.sample_memory(); });
          }
          const auto place = static_cast<std::size_t>(self.rank);
          seen.last[place].device = &device;
          seen.last[place].next = [&](std::int64_t step) { core.begins_step(self.rank, step); };
          world.observers.push_back(&seen.last[place]);
          const Trained trained = train_rank(arguments, datasets, world);
          if (self.rank == 0) seen.trained = trained;
          seen.memory_peak[place] = device.bytes_peak();
          seen.host_peak[place] = host.bytes_peak();
        } catch (...) {
          // A killed rank that the others do without is no failure; it unwinds after them.
          const bool done_without = self.rank > 0 && !core.gone(self.rank).empty();
          if (!failure && !done_without) failure = std::current_exception();
          throw;
        }
      },
      {.stack_bytes = stack_bytes,
       .idle_s = idle_s,
       .on_idle = fibers.on_idle,
       .last_sign = fibers.last_sign});
  if (draws) {
    timeline.title =
        text(arguments.get("model"), " on ", counted(ranks, "rank"), " of ", cluster.name);
    timeline.facts = {{"gradients travel", std::string(ways.trainer().reduction())},
                      {"samples per rank and step", text(options.batch_size * options.accumulate)}};
    trace::write_file(arguments.get("trace"), ordered(std::move(timeline)));
  }
  if (failure) std::rethrow_exception(failure);
  if (result.finding) throw Error(result.finding->message);
  if (seen.last.front().report.step > 0) print_report(seen, arguments, spec, options, cluster);
  print_cost(core.counters(), cluster.network, watch.seconds());
  const train::Summary& summary = seen.trained.summary;
  return summary.replicas_equal && summary.asynchrony.lost.empty() ? 0 : 1;
}

}  // namespace

// A part of the student's may crash or never end: then this process says whose rank it was.
int train_simulated(const Arguments& arguments, int ranks) {
  const auto ran = sim::run_in_child([&](const sim::FiberOptions& fibers) {
    return run_program("lab train", [&] { return train_on_fibers(arguments, ranks, fibers); });
  });
  if (ran.finding) throw Error(ran.finding->message);
  return ran.code;
}

}  // namespace lockstep::apps
