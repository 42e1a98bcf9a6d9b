// What moves in a collective, on the simulator, for the figures of lessons 03 and 06.
//   build/release/bin/what-moves values
//     each collective of four ranks:  NAME RANK before|after ELEMENT…      (- where there is none)
//   build/release/bin/what-moves messages NAME RANKS BYTES
//     each message, in the order of sending, and then the whole:
//       message SRC DST BYTES SENT ARRIVED DEPTH PLACE WHOSE        times in µs
//       all TIME DEPTH FAN                          FAN: messages sent by the busiest rank
//     PLACE is the first element that is sent, or 0 where it is not sent from the data itself;
//     WHOSE are the ranks whose numbers are summed in it.
#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>

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
#include "engine/comm/sim.hpp"
#include "engine/sim/fiber_host.hpp"

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
void ring(comm::Peers& peers, const Tensor& data) {
  collectives::ring_all_reduce(peers, data, ReduceOp::sum);
}

using Algorithm = void (*)(comm::Peers&, const Tensor&);
const std::map<std::string, Algorithm> algorithms{
    {"star", star},
    {"chain", chain},
    {"tree", tree},
    {"ring_all_reduce", ring},
    {"tree_all_reduce",
     [](comm::Peers& peers, const Tensor& data) {
       collectives::tree_all_reduce(peers, data, ReduceOp::sum);
     }},
    {"halving_doubling_all_reduce", [](comm::Peers& peers, const Tensor& data) {
       collectives::halving_doubling_all_reduce(peers, data, ReduceOp::sum);
     }}};

// What a rank sends, in the order in which it does.
struct Sent {
  std::int64_t place, whose;
};

// Peers that look at what is sent from `data`.
class Watched final : public comm::Peers {
 public:
  Watched(comm::Peers& inner, const Tensor& data, std::vector<Sent>& sent)
      : Peers(inner.rank(), inner.size()), inner_(inner), data_(data), sent_(sent) {}

 private:
  void look(const Tensor& sent) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data_.raw_bytes().data());
    const auto at = reinterpret_cast<std::uintptr_t>(sent.raw_bytes().data());
    const bool inside = at >= begin && at < begin + data_.bytes();
    sent_.push_back(
        {inside ? static_cast<std::int64_t>(at - begin) / 8 : 0, sent.data<std::int64_t>()[0]});
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
  const Tensor& data_;
  std::vector<Sent>& sent_;
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

// Every rank brings the bit of its number in each element, so that a sum says whose it is.
void show_messages(Algorithm algorithm, int ranks, std::int64_t bytes) {
  std::vector<std::vector<Sent>> sent(static_cast<std::size_t>(ranks));
  const auto counters = played(ranks, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor data = empty({bytes / 8}, DType::int64, device);
    const auto bit = static_cast<unsigned>(group.rank()) % 63;
    std::ranges::fill(data.data<std::int64_t>(), std::int64_t{1} << bit);
    Watched watched(group, data, sent[static_cast<std::size_t>(group.rank())]);
    algorithm(watched, data);
  });
  std::vector<sim::MessageRecord> messages = counters.messages;
  std::stable_sort(messages.begin(), messages.end(),
                   [](const auto& a, const auto& b) { return a.sent_s < b.sent_s; });
  std::vector<std::size_t> next(sent.size());
  for (const auto& message : messages) {
    const auto src = static_cast<std::size_t>(message.src);
    const auto& [place, whose] = sent[src][next[src]++];
    std::cout << "message " << message.src << " " << message.dst << " " << message.bytes << " "
              << message.sent_s * 1e6 << " " << message.arrived_s * 1e6 << " " << message.depth
              << " " << place << " ";
    const char* comma = "";
    for (int rank = 0; rank < std::min(ranks, 63); ++rank) {
      if ((whose >> rank & 1) == 0) continue;
      std::cout << comma << rank;
      comma = ",";
    }
    std::cout << "\n";
  }
  std::int64_t fan = 0;
  for (const auto& rank : counters.ranks) fan = std::max(fan, rank.messages_sent);
  std::cout << "all " << counters.makespan_s * 1e6 << " " << counters.depth << " " << fan << "\n";
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
  if (algorithm == algorithms.end() || words[0] != "messages") {
    std::cerr << "what-moves values, or what-moves messages NAME RANKS BYTES; names are";
    for (const auto& [name, run] : algorithms) std::cerr << " " << name;
    std::cerr << "\n";
    return 2;
  }
  show_messages(algorithm->second, std::stoi(words[2]), std::stoll(words[3]));
}
