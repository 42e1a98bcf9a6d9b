// A decorator: everything goes on to the inner group through its public face, but all_reduce runs a
// part over the inner group's messages (tag 0). A part blocks, so the asynchronous form is complete
// when it returns.
#include "engine/collectives/all_reduce_choice.hpp"

#include "engine/base/nearest.hpp"
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

namespace {

using comm::Where;
using comm::Work;

class ChosenGroup final : public comm::ProcessGroup {
 public:
  ChosenGroup(comm::ProcessGroup& inner, AllReduce algorithm)
      : ProcessGroup(inner.rank(), inner.size()), inner_(inner), algorithm_(algorithm) {}
  // Of a split group, which nobody else holds.
  ChosenGroup(std::unique_ptr<comm::ProcessGroup> owned, AllReduce algorithm)
      : ProcessGroup(owned->rank(), owned->size()),
        owned_(std::move(owned)),
        inner_(*owned_),
        algorithm_(algorithm) {}

  std::string_view backend() const override { return inner_.backend(); }
  comm::Traffic traffic() const override { return inner_.traffic(); }
  double now_s() const override { return inner_.now_s(); }
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
    ring_all_reduce(inner_, collective.output.view({collective.output.numel()}), collective.op);
    return {};
  }
  void run(const comm::Collective& collective, const Where& where) override {
    if (!chosen(collective)) return run_in(inner_, collective, where);
    start(collective, where).wait();
  }

  std::unique_ptr<comm::ProcessGroup> start_split(int color, int key, const Where& where) override {
    auto part = inner_.split(color, key, where);
    if (!part) return nullptr;
    return std::make_unique<ChosenGroup>(std::move(part), algorithm_);
  }

 private:
  bool chosen(const comm::Collective& collective) const {
    return algorithm_ == AllReduce::ring && collective.kind == comm::CollectiveKind::all_reduce;
  }

  std::unique_ptr<comm::ProcessGroup> owned_;
  comm::ProcessGroup& inner_;
  AllReduce algorithm_;
};

}  // namespace

AllReduce all_reduce_named(const std::string& name) {
  const std::vector<std::string> names{"native", "ring"};
  if (name == names[0]) return AllReduce::native;
  if (name == names[1]) return AllReduce::ring;
  throw UsageError(text("there is no all-reduce named \"", name, "\"", did_you_mean(name, names),
                        " (native or ring)"));
}

std::unique_ptr<comm::ProcessGroup> with_all_reduce(comm::ProcessGroup& inner,
                                                    AllReduce algorithm) {
  return std::make_unique<ChosenGroup>(inner, algorithm);
}

}  // namespace lockstep::collectives
