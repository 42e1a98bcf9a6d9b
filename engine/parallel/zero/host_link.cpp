#include "engine/parallel/zero/host_link.hpp"

#include <optional>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/comm/ordered_strand.hpp"
#include "engine/tensor/kernels.hpp"

namespace lockstep::zero {
namespace {

class QueuedLink final : public HostLink {
 public:
  QueuedLink(HostMemory host, Strands* strands, const comm::ProcessGroup& clock)
      : host_(std::move(host)) {
    if (strands == nullptr) return;
    down_.emplace(*strands, clock, "copies down");
    up_.emplace(*strands, clock, "copies up");
  }

  Device& host() override { return host_.device; }

  comm::Work down(const Tensor& on_device, const Tensor& on_host, Arrives how) override {
    traffic_.down += bytes(on_device, on_host);
    const bool same = on_device.dtype() == on_host.dtype();
    return run(down_, [this, on_device, on_host, how, same] {
      if (how == Arrives::replaces && same) return copy(on_device, on_host);
      const Tensor arrived =
          empty(on_host.shape(), on_device.dtype(), host_.device, MemoryKind::gradients);
      copy(on_device, arrived);
      if (how == Arrives::replaces) return on_host.convert_(arrived);
      on_host.reduce_(same ? arrived : arrived.to(on_host.dtype()), ReduceOp::sum);
    });
  }

  comm::Work up(const Tensor& on_host, const Tensor& on_device) override {
    LOCKSTEP_CHECK(on_host.dtype() == on_device.dtype(), "host link: ", name_of(on_host.dtype()),
                   " comes up as ", name_of(on_device.dtype()),
                   "; only what goes down is converted");
    traffic_.up += bytes(on_host, on_device);
    return run(up_, [this, on_host, on_device] { copy(on_host, on_device); });
  }

  HostTraffic traffic() const override { return traffic_; }

 private:
  static std::int64_t bytes(const Tensor& from, const Tensor& to) {
    LOCKSTEP_CHECK(from.numel() == to.numel(), "host link: ", from.numel(), " elements go to ",
                   to.numel(), "; a copy needs as many");
    return static_cast<std::int64_t>(from.bytes());
  }

  // Neither device computes: the copy costs what the way costs.
  void copy(const Tensor& from, const Tensor& to) const {
    if (from.device().has_numbers()) to.device().kernels().copy(from, to);
    if (host_.carry) host_.carry(static_cast<std::int64_t>(from.bytes()));
  }

  static comm::Work run(std::optional<comm::OrderedStrand>& queue, comm::OrderedBody body) {
    if (queue) return queue->start(std::move(body));
    body();
    return {};
  }

  HostMemory host_;
  HostTraffic traffic_;
  std::optional<comm::OrderedStrand> down_, up_;
};

}  // namespace

std::unique_ptr<HostLink> make_host_link(HostMemory host, Strands* strands,
                                         const comm::ProcessGroup& clock) {
  return std::make_unique<QueuedLink>(std::move(host), strands, clock);
}

}  // namespace lockstep::zero
