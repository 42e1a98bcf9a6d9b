// What moves in a collective, on the simulator, for the figures of lessons 03 and 06.
//   build/release/bin/what-moves values
//     each collective of four ranks:  NAME RANK before|after ELEMENT…      (- where there is none)
//   build/release/bin/what-moves messages NAME RANKS BYTES
//     each message, in the order of sending, and then the whole:
//       message SRC DST BYTES SENT ARRIVED DEPTH PLACE WHOSE        times in µs
//       all TIME DEPTH FAN                          FAN: messages sent by the busiest rank
//     PLACE is the first element that is sent, WHOSE are the ranks whose numbers are summed in it;
//     on more than 16 ranks both are left out.
//   build/release/bin/what-moves steps NAME RANKS COUNT
//     what each rank sends in each step, and what it ends with. Rank 0 brings 1, 2, 3, …, rank 1
//     ten times as much, and so on; to all_gather each brings its block of these.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/all_to_all.hpp"
#include "engine/collectives/broadcast.hpp"
#include "engine/collectives/gather.hpp"
#include "engine/collectives/halving_doubling_all_reduce.hpp"
#include "engine/collectives/reduce.hpp"
#include "engine/collectives/reduce_scatter.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/collectives/scatter.hpp"
#include "engine/collectives/tree_all_reduce.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"

namespace {

using namespace lockstep;

// Two broadcasts to compare the tree with.
void star(comm::Peers& peers, const Tensor& data) {
  if (peers.rank() != 0) return peers.recv(data, 0);
  for (int dst = 1; dst < peers.size(); ++dst) peers.send(data, dst);
}
void chain(comm::Peers& peers, const Tensor& data) {
  if (peers.rank() > 0) peers.recv(data, peers.rank() - 1);
  if (peers.rank() + 1 < peers.size()) peers.send(data, peers.rank() + 1);
}
void tree(comm::Peers& peers, const Tensor& data) { collectives::broadcast(peers, data, 0); }

// Block r of the data is what rank r brings.
void all_gather(comm::Peers& peers, const Tensor& data) {
  const std::int64_t block = data.numel() / peers.size();
  const Tensor mine = data.narrow(peers.rank() * block, block).clone();
  data.fill_(0);
  collectives::all_gather(peers, mine, data);
}
// Leaves nothing but the finished block.
void reduce_scatter(comm::Peers& peers, const Tensor& data) {
  const std::int64_t n = peers.size(), count = data.numel();
  const std::int64_t begin = peers.rank() * count / n, end = (peers.rank() + 1) * count / n;
  const Tensor mine = data.empty_like(end - begin);
  collectives::reduce_scatter(peers, data, mine, ReduceOp::sum);
  data.fill_(0);
  data.narrow(begin, end - begin).copy_(mine);
}
template <void (*all_reduce)(comm::Peers&, Tensor, ReduceOp)>
void summed(comm::Peers& peers, const Tensor& data) {
  all_reduce(peers, data, ReduceOp::sum);
}

using Algorithm = void (*)(comm::Peers&, const Tensor&);
const std::map<std::string, Algorithm> algorithms{
    {"star", star},
    {"chain", chain},
    {"tree", tree},
    {"all_gather", all_gather},
    {"reduce_scatter", reduce_scatter},
    {"ring_all_reduce", summed<collectives::ring_all_reduce>},
    {"tree_all_reduce", summed<collectives::tree_all_reduce>},
    {"halving_doubling_all_reduce", summed<collectives::halving_doubling_all_reduce>}};

// What a rank sends, in the order in which it does: the first elements of each message.
using Sent = std::vector<std::vector<std::int64_t>>;

// Peers that look at what is sent.
class Watched final : public comm::Peers {
 public:
  Watched(comm::Peers& inner, Sent& sent)
      : Peers(inner.rank(), inner.size()), inner_(inner), sent_(sent) {}

 private:
  void look(const Tensor& sent) {
    const auto all = sent.data<std::int64_t>();
    sent_.emplace_back(all.begin(), all.begin() + std::min<std::ptrdiff_t>(8, std::ssize(all)));
  }
  comm::Work start_send(const Tensor& data, int dst, int tag, const comm::Where& where) override {
    look(data);
    return inner_.isend(data, dst, tag, where);
  }
  comm::Work start_recv(Tensor data, int src, int tag, const comm::Where& where) override {
    return inner_.irecv(std::move(data), src, tag, where);
  }
  void send_now(const Tensor& data, int dst, int tag, const comm::Where& where) override {
    look(data);
    inner_.send(data, dst, tag, where);
  }
  void recv_now(Tensor data, int src, int tag, const comm::Where& where) override {
    inner_.recv(std::move(data), src, tag, where);
  }

  comm::Peers& inner_;
  Sent& sent_;
};

sim::Counters played(int ranks, const std::function<void(comm::ProcessGroup&, Device&)>& program) {
  sim::Options options;
  options.ranks = ranks;
  options.limits.bytes_max = std::int64_t{1} << 40;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    program(*comm::make_sim_group(self.port, self.rank, self.ranks), device);
  });
  if (result.finding) throw Error(result.finding->message);
  return core.counters();
}

// A run of one algorithm, watched: its messages in the order of sending, each with its elements.
struct Message {
  sim::MessageRecord record;
  std::vector<std::int64_t> values;
};
struct Play {
  std::vector<Message> messages;
  sim::Counters counters;
};

Play watched(Algorithm algorithm, int ranks, std::int64_t count,
             std::int64_t (*brings)(int rank, std::int64_t element),
             const std::function<void(int rank, const Tensor& data)>& at_the_end) {
  std::vector<Sent> sent(static_cast<std::size_t>(ranks));
  Play play;
  play.counters = played(ranks, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor data = empty({count}, DType::int64, device);
    const auto values = data.data<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) values[i] = brings(group.rank(), i);
    Watched peers(group, sent[static_cast<std::size_t>(group.rank())]);
    algorithm(peers, data);
    at_the_end(group.rank(), data);
  });
  std::vector<sim::MessageRecord> records = play.counters.messages;
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.sent_s < b.sent_s; });
  std::vector<std::size_t> next(sent.size());
  for (const auto& record : records) {
    const auto src = static_cast<std::size_t>(record.src);
    play.messages.push_back({record, sent[src][next[src]++]});
  }
  return play;
}

// Every rank brings a bit of its own and the number of each element, so that a sum says whose it is
// and where it belongs.
constexpr int ranks_that_fit = 16;
constexpr std::int64_t one_element = std::int64_t{1} << ranks_that_fit;

std::int64_t marked(int rank, std::int64_t element) {
  return rank < ranks_that_fit ? (std::int64_t{1} << rank) + element * one_element : 0;
}

std::string place_and_whose(std::int64_t sum) {
  const auto whose = static_cast<unsigned>(sum % one_element);
  std::string words = text(" ", sum / one_element / std::popcount(whose), " ");
  const char* comma = "";
  for (int rank = 0; rank < ranks_that_fit; ++rank) {
    if ((whose >> rank & 1) == 0) continue;
    words += text(comma, rank);
    comma = ",";
  }
  return words;
}

void show_messages(Algorithm algorithm, int ranks, std::int64_t bytes) {
  const Play play = watched(algorithm, ranks, bytes / 8, marked, [](int, const Tensor&) {});
  for (const auto& [message, values] : play.messages) {
    std::cout << "message " << message.src << " " << message.dst << " " << message.bytes << " "
              << message.sent_s * 1e6 << " " << message.arrived_s * 1e6 << " " << message.depth
              << (ranks <= ranks_that_fit ? place_and_whose(values[0]) : "") << "\n";
  }
  std::int64_t fan = 0;
  for (const auto& rank : play.counters.ranks) fan = std::max(fan, rank.messages_sent);
  std::cout << "all " << play.counters.makespan_s * 1e6 << " " << play.counters.depth << " " << fan
            << "\n";
}

std::string joined(std::span<const std::int64_t> values) {
  std::string words;
  for (const std::int64_t value : values) words += text(" ", value);
  return words;
}

void show_steps(Algorithm algorithm, int ranks, std::int64_t count) {
  std::vector<std::string> ends(static_cast<std::size_t>(ranks));
  const auto power_of_ten = [](int rank, std::int64_t element) {
    return (element + 1) * static_cast<std::int64_t>(std::llround(std::pow(10, rank)));
  };
  const Play play =
      watched(algorithm, ranks, count, power_of_ten, [&](int rank, const Tensor& data) {
        ends[static_cast<std::size_t>(rank)] = joined(data.data<std::int64_t>());
      });
  std::map<std::pair<std::int64_t, int>, std::string> steps;  // by step and sender
  for (const auto& [message, values] : play.messages) {
    steps[{message.depth, message.src}] += text(" to ", message.dst, ":", joined(values));
  }
  std::int64_t shown = 0;
  for (const auto& [at, words] : steps) {
    const auto& [step, src] = at;
    std::cout << (step == shown ? " | " : text(shown == 0 ? "" : "\n", "step ", step, "  ")) << src
              << words;
    shown = step;
  }
  if (shown > 0) std::cout << "\n";
  for (int rank = 0; rank < ranks; ++rank) {
    std::cout << "rank " << rank << " ends with" << ends[static_cast<std::size_t>(rank)] << "\n";
  }
}

// One collective of the table: what a rank brings, what it has room for, and the call. Brings its
// own numbers 10·rank, 10·rank + 1, … where it brings any.
struct Shown {
  std::string name;
  int brings_at_root, brings, gets_at_root, gets;  // elements, on four ranks
  void (*call)(comm::Peers&, const Tensor& in, const Tensor& out);
};

constexpr int shown_ranks = 4;
const std::vector<std::int64_t> one_each(shown_ranks, 1);

const std::vector<Shown> table{
    {"broadcast", 4, 0, 4, 4,
     [](comm::Peers& peers, const Tensor& in, const Tensor& out) {
       if (peers.rank() == 0) out.copy_(in);
       collectives::broadcast(peers, out, 0);
     }},
    {"scatter", 4, 0, 1, 1,
     [](comm::Peers& peers, const Tensor& in, const Tensor& out) {
       collectives::scatter(peers, in, out, 0);
     }},
    {"gather", 1, 1, 4, 0,
     [](comm::Peers& peers, const Tensor& in, const Tensor& out) {
       collectives::gather(peers, in, out, 0);
     }},
    {"all_gather", 1, 1, 4, 4,
     [](comm::Peers& peers, const Tensor& in, const Tensor& out) {
       collectives::all_gather(peers, in, out);
     }},
    {"reduce", 4, 4, 4, 4,
     [](comm::Peers& peers, const Tensor& in, const Tensor& out) {
       out.copy_(in);
       collectives::reduce(peers, out, 0, ReduceOp::sum);
     }},
    {"all_reduce", 4, 4, 4, 4,
     [](comm::Peers& peers, const Tensor& in, const Tensor& out) {
       out.copy_(in);
       collectives::ring_all_reduce(peers, out, ReduceOp::sum);
     }},
    {"reduce_scatter", 4, 4, 1, 1,
     [](comm::Peers& peers, const Tensor& in, const Tensor& out) {
       collectives::reduce_scatter(peers, in, out, ReduceOp::sum);
     }},
    {"all_to_all", 4, 4, 4, 4, [](comm::Peers& peers, const Tensor& in, const Tensor& out) {
       collectives::all_to_all(peers, in, out, one_each, one_each);
     }}};

std::string line_of(const Shown& shown, int rank, const char* when, const Tensor& data) {
  std::string line = text(shown.name, " ", rank, " ", when);
  if (data.numel() == 0) line += " -";
  for (const std::int64_t element : data.data<std::int64_t>()) line += text(" ", element);
  return line + "\n";
}

void show_values() {
  for (const Shown& shown : table) {
    std::vector<std::string> lines(std::size_t{2} * shown_ranks);
    played(shown_ranks, [&](comm::ProcessGroup& group, Device& device) {
      const int rank = group.rank();
      const Tensor in =
          empty({rank == 0 ? shown.brings_at_root : shown.brings}, DType::int64, device);
      const Tensor out = empty({rank == 0 ? shown.gets_at_root : shown.gets}, DType::int64, device);
      std::iota(in.data<std::int64_t>().begin(), in.data<std::int64_t>().end(), 10 * rank);
      shown.call(group, in, out);
      lines[static_cast<std::size_t>(rank)] = line_of(shown, rank, "before", in);
      lines[static_cast<std::size_t>(shown_ranks + rank)] = line_of(shown, rank, "after", out);
    });
    for (const std::string& line : lines) std::cout << line;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words == std::vector<std::string>{"values"}) {
    show_values();
    return 0;
  }
  const auto algorithm = algorithms.find(words.size() == 4 ? words[1] : "");
  const bool steps = words.size() == 4 && words[0] == "steps";
  if (algorithm == algorithms.end() || (!steps && words[0] != "messages")) {
    std::cerr << "what-moves values, or what-moves messages NAME RANKS BYTES, or what-moves steps "
                 "NAME RANKS COUNT; names are";
    for (const auto& [name, run] : algorithms) std::cerr << " " << name;
    std::cerr << "\n";
    return 2;
  }
  (steps ? show_steps : show_messages)(algorithm->second, std::stoi(words[2]),
                                       std::stoll(words[3]));
}
