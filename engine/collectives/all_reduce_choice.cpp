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
  Work start_broadcast(Tensor data, int root, const Where& where) override {
    return inner_.broadcast_async(std::move(data), root, where);
  }
  void broadcast_now(Tensor data, int root, const Where& where) override {
    inner_.broadcast(std::move(data), root, where);
  }
  Work start_all_gather(const Tensor& mine, Tensor all, const Where& where) override {
    return inner_.all_gather_async(mine, std::move(all), where);
  }
  void all_gather_now(const Tensor& mine, Tensor all, const Where& where) override {
    inner_.all_gather(mine, std::move(all), where);
  }
  Work start_barrier(const Where& where) override {
    inner_.barrier(where);
    return {};
  }

  Work start_all_reduce(Tensor data, ReduceOp op, const Where& where) override {
    switch (algorithm_) {
      case AllReduce::native:
        return inner_.all_reduce_async(std::move(data), op, where);
      case AllReduce::ring:
        ring_all_reduce(inner_, data.view({data.numel()}), op);
        break;
    }
    return {};
  }
  void all_reduce_now(Tensor data, ReduceOp op, const Where& where) override {
    if (algorithm_ == AllReduce::native) return inner_.all_reduce(std::move(data), op, where);
    start_all_reduce(std::move(data), op, where).wait();
  }

  std::unique_ptr<comm::ProcessGroup> start_split(int color, int key, const Where& where) override {
    auto part = inner_.split(color, key, where);
    if (!part) return nullptr;
    return std::make_unique<ChosenGroup>(std::move(part), algorithm_);
  }

 private:
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
