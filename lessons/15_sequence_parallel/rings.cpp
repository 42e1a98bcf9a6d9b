// Attention of one layer, forward, over a sequence that ranks share:
//   build/release/bin/rings work              pairs of a query and a key that each rank computes,
//                                             contiguous and zigzag, and the busiest rank's share
//   build/release/bin/rings plan KIND RANKS   the same by chunk, for a figure: QUERIES KEYS RANK
//   STEP build/release/bin/rings time KIND RANKS TOKENS CLUSTER
//                                             a run on simulated GPUs, without numbers: how long it
//                                             takes, and what of it is computing. Width 8,192, 64
//                                             heads, bfloat16
//   build/release/bin/rings spans KIND RANKS TOKENS CLUSTER
//                                             the same for a figure: RANK compute|message BEGIN
//                                             END, in µs
// KIND is ring, zigzag or ulysses.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/parallel/sequence/ring_attention.hpp"
#include "engine/parallel/sequence/ulysses_attention.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/sim/model/cluster.hpp"
#include "engine/trace/timeline.hpp"

using namespace lockstep;
using namespace lockstep::sequence_parallel;

namespace {

constexpr std::int64_t width = 8192, heads = 64;

std::vector<Positions> positions_of(const std::string& kind, int ranks, std::int64_t tokens) {
  std::vector<Positions> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(kind == "zigzag" ? zigzag(tokens, ranks, rank) : contiguous(tokens, ranks, rank));
  }
  return all;
}

// Whose keys a rank computes with in a step.
int source_of(int rank, int step, int ranks) { return (rank - step + ranks) % ranks; }

void work() {
  constexpr std::int64_t tokens = 1 << 16;
  std::cout << "ranks  split        busiest over mean  steps, each as long as its busiest rank\n";
  for (const int ranks : {2, 4, 8}) {
    for (const std::string kind : {"ring", "zigzag"}) {
      const auto of = positions_of(kind, ranks, tokens);
      std::vector<double> own(of.size());
      double in_steps = 0, all = 0;
      for (int step = 0; step < ranks; ++step) {
        double most = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const auto pairs = static_cast<double>(
              pairs_seen(of[static_cast<std::size_t>(rank)],
                         of[static_cast<std::size_t>(source_of(rank, step, ranks))]));
          own[static_cast<std::size_t>(rank)] += pairs;
          most = std::max(most, pairs);
          all += pairs;
        }
        in_steps += most;
      }
      const double mean = all / ranks;
      std::cout << std::fixed << std::setprecision(3) << std::setw(5) << ranks << "  " << std::left
                << std::setw(12) << (kind == "ring" ? "contiguous" : kind) << std::right
                << std::setw(18) << std::ranges::max(own) / mean << std::setw(18) << in_steps / mean
                << "\n";
    }
  }
}

// Which rank computes a chunk of queries with a chunk of keys, and in which step.
void plan(const std::string& kind, int ranks) {
  const std::int64_t chunks = 2 * ranks;
  const auto of = positions_of(kind, ranks, chunks);
  std::vector<int> owner(static_cast<std::size_t>(chunks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::int64_t i = 0; i < of[static_cast<std::size_t>(rank)].count(); ++i) {
      owner[static_cast<std::size_t>(of[static_cast<std::size_t>(rank)].of(i))] = rank;
    }
  }
  for (std::size_t query = 0; query < owner.size(); ++query) {
    for (std::size_t key = 0; key <= query; ++key) {
      std::cout << query << " " << key << " " << owner[query] << " "
                << (owner[query] - owner[key] + ranks) % ranks << "\n";
    }
  }
}

void attend(const std::string& kind, comm::ProcessGroup& group, std::int64_t tokens,
            Device& device) {
  const auto of = positions_of(kind, group.size(), tokens);
  const std::int64_t mine = of[static_cast<std::size_t>(group.rank())].count();
  if (kind == "ulysses") {
    Tape tape(GradMode::inference);
    const Tensor qkv = empty({1, mine, 3 * width}, DType::bfloat16, device);
    ulysses_attention(tape, group, tape.constant(qkv), heads, tokens);
  } else {
    const Tensor queries = empty({1, mine, width}, DType::bfloat16, device);
    ring_attention(group, queries, empty({1, mine, 2 * width}, DType::bfloat16, device), heads, of);
  }
}

struct Run {
  std::vector<double> all_s, computing_s;  // by rank
  trace::Timeline timeline;
  double begin_s = 0;
};

Run run_on(const std::string& kind, int ranks, std::int64_t tokens, const std::string& name) {
  const sim::Cluster cluster = sim::cluster_of(name);
  Run run;
  run.all_s.resize(static_cast<std::size_t>(ranks));
  run.computing_s.resize(static_cast<std::size_t>(ranks));
  sim::Options options;
  options.ranks = ranks;
  options.network = cluster.network;
  options.limits.bytes_max = std::int64_t{1} << 50;
  options.timeline = &run.timeline;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    comm::SimulatedDevice device(self.port, self.rank, cluster.device, DType::bfloat16,
                                 comm::Elements::none);
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    group->barrier();
    const double begin = group->now_s(), charged = device.charged_s();
    attend(kind, *group, tokens, device);
    const auto at = static_cast<std::size_t>(self.rank);
    run.all_s[at] = group->now_s() - begin;
    run.computing_s[at] = device.charged_s() - charged;
    run.begin_s = begin;
  });
  if (result.finding) throw Error(result.finding->message);
  return run;
}

void tell_time(const std::string& kind, const Run& run) {
  const auto slowest = std::ranges::max_element(run.all_s) - run.all_s.begin();
  const double all = run.all_s[static_cast<std::size_t>(slowest)];
  double computing = 0;
  for (const double seconds : run.computing_s) computing += seconds;
  std::cout << std::left << std::setw(9) << kind << std::right << std::fixed << std::setprecision(1)
            << std::setw(8) << all * 1e3 << " ms, a rank computes "
            << computing / static_cast<double>(run.all_s.size()) * 1e3 << " ms of it on average\n";
}

// Computing, and messages as their receiver sees them.
void tell_spans(const Run& run) {
  const auto tell = [&](int rank, const char* what, double begin_s, double end_s) {
    if (begin_s < run.begin_s || end_s - begin_s < 1e-6) return;
    std::cout << rank << " " << what << " " << (begin_s - run.begin_s) * 1e6 << " "
              << (end_s - run.begin_s) * 1e6 << "\n";
  };
  for (const trace::Span& span : run.timeline.spans) {
    if (span.lane == trace::Lane::compute) tell(span.rank, "compute", span.start_s, span.end_s);
  }
  for (const trace::Message& message : run.timeline.messages) {
    tell(message.dst, "message", message.start_s, message.arrived_s);
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string which = count > 1 ? words[1] : "";
    if (which == "work" && count == 2) {
      work();
    } else if (which == "plan" && count == 4) {
      plan(words[2], std::stoi(words[3]));
    } else if ((which == "time" || which == "spans") && count == 6) {
      const Run run = run_on(words[2], std::stoi(words[3]), std::stoll(words[4]), words[5]);
      which == "time" ? tell_time(words[2], run) : tell_spans(run);
    } else {
      throw UsageError(
          "usage: rings work | plan KIND RANKS | time|spans KIND RANKS TOKENS CLUSTER");
    }
  } catch (const std::exception& error) {
    std::cerr << "rings: " << error.what() << "\n";
    return 2;
  }
}
