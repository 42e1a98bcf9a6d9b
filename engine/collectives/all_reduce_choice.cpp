// A decorator: everything goes on to the inner group through its public face, but all_reduce runs a
// part over the inner group's messages. A part blocks, so the asynchronous form runs it on a strand
// of its own, one after the other, beside what the rank does meanwhile.
#include "engine/collectives/all_reduce_choice.hpp"

#include <algorithm>
#include <exception>

#include "engine/base/nearest.hpp"
#include "engine/collectives/halving_doubling_all_reduce.hpp"
#include "engine/collectives/hierarchical_all_reduce.hpp"
#include "engine/collectives/naive_all_reduce.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/collectives/tree_all_reduce.hpp"
#include "engine/comm/ordered_strand.hpp"
#include "engine/comm/sub_peers.hpp"

namespace lockstep::collectives {

namespace {

using comm::Where;
using comm::Work;

// The first tag of the parts' messages, so that those of a part on its strand are never taken for
// the rank's.
constexpr int first_tag = 1 << 20;

std::vector<int> ranks_from(int first, int step, int count) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(first + i * step);
  return ranks;
}

// How many ranks a node has, of so many.
int node_size(int ranks_per_node, int ranks) {
  return ranks_per_node > 0 && ranks_per_node < ranks ? ranks_per_node : ranks;
}

class ChosenGroup final : public comm::ProcessGroup {
 public:
  ChosenGroup(comm::ProcessGroup& inner, AllReduce algorithm, Strands& strands, int ranks_per_node)
      : ProcessGroup(inner.rank(), inner.size(), inner.names()),
        inner_(inner),
        peers_(inner, ranks_from(0, 1, inner.size()), first_tag),
        algorithm_(algorithm),
        ranks_per_node_(ranks_per_node),
        strands_(strands),
        exceptions_(std::uncaught_exceptions()),
        queue_(strands, inner) {}
  // For a split group, which nobody else holds.
  ChosenGroup(std::unique_ptr<comm::ProcessGroup> owned, AllReduce algorithm, Strands& strands)
      : ChosenGroup(*owned, algorithm, strands, 0) {
    owned_ = std::move(owned);
  }
  // After an error, work that still runs on a thread is not waited for until its deadline.
  ~ChosenGroup() override {
    if (std::uncaught_exceptions() <= exceptions_) return;
    give_up_in(inner_, own_name() + " ended by an error while it summed");
  }

  std::string_view backend() const override { return inner_.backend(); }
  bool carries(const Device& device) const override { return inner_.carries(device); }
  comm::Traffic traffic() const override { return inner_.traffic(); }
  double now_s() const override { return inner_.now_s(); }
  void wait_until(double seconds) const override { inner_.wait_until(seconds); }
  comm::Clock clock() const override { return inner_.clock(); }
  // The parts sum what they are given.
  comm::Averaging averaging(const Device& device) const override {
    return algorithm_ == AllReduce::native ? inner_.averaging(device) : comm::Averaging::before;
  }
  Tensor allocate_buffer(std::int64_t count, DType dtype, Device& device) override {
    return inner_.allocate_buffer(count, dtype, device);
  }

 protected:
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override {
    return inner_.isend(data, dst, tag, where);
  }
  Work start_recv(Tensor data, int src, int tag, const Where& where) override {
    return inner_.irecv(std::move(data), src, tag, where);
  }
  void send_now(const Tensor& data, int dst, int tag, const Where& where) override {
    inner_.send(data, dst, tag, where);
  }
  void recv_now(Tensor data, int src, int tag, const Where& where) override {
    inner_.recv(std::move(data), src, tag, where);
  }
  Work start(const comm::Collective& collective, const Where& where) override {
    if (!chosen(collective)) return start_in(inner_, collective, where);
    return queue_.start([this, collective] { sum(collective); });
  }
  void run(const comm::Collective& collective, const Where& where) override {
    if (!chosen(collective)) return run_in(inner_, collective, where);
    queue_.run([&] { sum(collective); });
  }

  std::unique_ptr<comm::ProcessGroup> start_split(int color, int key, const Where& where) override {
    auto part = inner_.split(color, key, where);
    if (!part) return nullptr;
    return std::make_unique<ChosenGroup>(std::move(part), algorithm_, strands_);
  }
  void give_up(const std::string& why) override { give_up_in(inner_, why); }

 private:
  void sum(const comm::Collective& collective) {
    run_all_reduce(algorithm_, peers_, ranks_per_node_,
                   collective.output.view({collective.output.numel()}), collective.op);
  }
  bool chosen(const comm::Collective& collective) const {
    return algorithm_ != AllReduce::native && collective.kind == comm::CollectiveKind::all_reduce;
  }

  std::unique_ptr<comm::ProcessGroup> owned_;
  comm::ProcessGroup& inner_;
  comm::SubPeers peers_;
  AllReduce algorithm_;
  int ranks_per_node_;
  Strands& strands_;
  int exceptions_;             // under way when the group was made
  comm::OrderedStrand queue_;  // last: ends before what its operations use
};

}  // namespace

AllReduce all_reduce_named(const std::string& name) {
  const auto names = all_reduce_names();
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<AllReduce>(at - names.begin());
  std::string known;
  for (const auto& each : names) known += text(known.empty() ? "" : ", ", each);
  throw UsageError(text("there is no all-reduce named \"", name, "\"", did_you_mean(name, names),
                        " (", known, ")"));
}

void run_all_reduce(AllReduce algorithm, comm::Peers& peers, int ranks_per_node, const Tensor& data,
                    ReduceOp op) {
  switch (algorithm) {
    case AllReduce::naive:
      return naive_all_reduce(peers, data, op);
    case AllReduce::ring:
      return ring_all_reduce(peers, data, op);
    case AllReduce::tree:
      return tree_all_reduce(peers, data, op);
    case AllReduce::halving_doubling:
      return halving_doubling_all_reduce(peers, data, op);
    case AllReduce::hierarchical: {
      const int each = node_size(ranks_per_node, peers.size());
      const int node = peers.rank() / each, place = peers.rank() % each;
      comm::SubPeers in_node(peers, ranks_from(node * each, 1, each));
      comm::SubPeers across(peers, ranks_from(place, each, peers.size() / each));
      return hierarchical_all_reduce(in_node, across, data, op);
    }
    case AllReduce::native:
      break;
  }
  LOCKSTEP_CHECK(false, "run_all_reduce: native is the group's own, and no part");
}

std::unique_ptr<comm::ProcessGroup> with_all_reduce(comm::ProcessGroup& inner, AllReduce algorithm,
                                                    Strands& strands, int ranks_per_node) {
  const int each = node_size(ranks_per_node, inner.size());
  if (algorithm == AllReduce::hierarchical && inner.size() % each != 0) {
    throw UsageError(text("hierarchical needs nodes of equally many ranks, and ", inner.size(),
                          " ranks do not fill nodes of ", each,
                          "; change the number of ranks, or take another all-reduce"));
  }
  return std::make_unique<ChosenGroup>(inner, algorithm, strands, ranks_per_node);
}

}  // namespace lockstep::collectives
