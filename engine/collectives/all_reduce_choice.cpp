// A decorator: everything goes on to the inner group through its public face, but all_reduce runs a
// part over the inner group's messages. A part blocks, so the asynchronous form runs it on a strand
// of its own, one after the other, beside what the rank does meanwhile.
#include "engine/collectives/all_reduce_choice.hpp"

#include <exception>

#include "engine/base/nearest.hpp"
#include "engine/collectives/ring_all_reduce.hpp"
#include "engine/comm/ordered_strand.hpp"

namespace lockstep::collectives {

namespace {

using comm::Where;
using comm::Work;

// The inner group's messages under tags of their own, so that those of a part on its strand are
// never taken for the rank's.
class PartPeers final : public comm::Peers {
 public:
  explicit PartPeers(comm::ProcessGroup& inner)
      : Peers(inner.rank(), inner.size()), inner_(inner) {}

 protected:
  static constexpr int first_tag = 1 << 20;
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override {
    return inner_.isend(data, dst, first_tag + tag, where);
  }
  Work start_recv(Tensor data, int src, int tag, const Where& where) override {
    return inner_.irecv(std::move(data), src, first_tag + tag, where);
  }
  void send_now(const Tensor& data, int dst, int tag, const Where& where) override {
    inner_.send(data, dst, first_tag + tag, where);
  }
  void recv_now(Tensor data, int src, int tag, const Where& where) override {
    inner_.recv(std::move(data), src, first_tag + tag, where);
  }

 private:
  comm::ProcessGroup& inner_;
};

class ChosenGroup final : public comm::ProcessGroup {
 public:
  ChosenGroup(comm::ProcessGroup& inner, AllReduce algorithm, Strands& strands)
      : ProcessGroup(inner.rank(), inner.size()),
        inner_(inner),
        algorithm_(algorithm),
        strands_(strands),
        exceptions_(std::uncaught_exceptions()),
        queue_(strands, inner) {}
  // Of a split group, which nobody else holds.
  ChosenGroup(std::unique_ptr<comm::ProcessGroup> owned, AllReduce algorithm, Strands& strands)
      : ChosenGroup(*owned, algorithm, strands) {
    owned_ = std::move(owned);
  }
  // What an error leaves running on a thread is not waited for until its deadline.
  ~ChosenGroup() override {
    if (std::uncaught_exceptions() <= exceptions_) return;
    give_up_in(inner_, text("rank ", rank(), " ended by an error while it summed"));
  }

  std::string_view backend() const override { return inner_.backend(); }
  comm::Traffic traffic() const override { return inner_.traffic(); }
  double now_s() const override { return inner_.now_s(); }
  void wait_until(double seconds) const override { inner_.wait_until(seconds); }
  comm::Clock clock() const override { return inner_.clock(); }
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

 private:
  void sum(const comm::Collective& collective) {
    PartPeers peers(inner_);
    ring_all_reduce(peers, collective.output.view({collective.output.numel()}), collective.op);
  }
  bool chosen(const comm::Collective& collective) const {
    return algorithm_ == AllReduce::ring && collective.kind == comm::CollectiveKind::all_reduce;
  }

  std::unique_ptr<comm::ProcessGroup> owned_;
  comm::ProcessGroup& inner_;
  AllReduce algorithm_;
  Strands& strands_;
  int exceptions_;             // under way when the group was made
  comm::OrderedStrand queue_;  // last: ends before what its operations use
};

}  // namespace

AllReduce all_reduce_named(const std::string& name) {
  const std::vector<std::string> names{"native", "ring"};
  if (name == names[0]) return AllReduce::native;
  if (name == names[1]) return AllReduce::ring;
  throw UsageError(text("there is no all-reduce named \"", name, "\"", did_you_mean(name, names),
                        " (native or ring)"));
}

std::unique_ptr<comm::ProcessGroup> with_all_reduce(comm::ProcessGroup& inner, AllReduce algorithm,
                                                    Strands& strands) {
  return std::make_unique<ChosenGroup>(inner, algorithm, strands);
}

}  // namespace lockstep::collectives
