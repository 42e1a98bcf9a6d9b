#include "engine/parallel/zero/host_link.hpp"

#include <functional>
#include <optional>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/comm/ordered_strand.hpp"
#include "engine/tensor/kernels.hpp"

namespace lockstep::zero {
namespace {

// A copy in a GPU's stream: it has arrived when the stream has been waited for.
class Arriving final : public comm::Pending {
 public:
  Arriving(Device& device, std::function<void()> then) : device_(device), then_(std::move(then)) {}
  void wait() override {
    device_.settle();
    then_();
  }

 private:
  Device& device_;
  std::function<void()> then_;
};

bool is_away(const Tensor& tensor) { return tensor.device().numbers() == Numbers::away; }

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
    const bool direct = how == Arrives::replaces && on_device.dtype() == on_host.dtype();
    if (is_away(on_device)) {
      const Tensor arrived = direct ? on_host : arrival(on_device, on_host);
      copy(on_device, arrived);
      return comm::Work(std::make_unique<Arriving>(on_device.device(), [=] {
        if (!direct) take(arrived, on_host, how);
      }));
    }
    return run(down_, [this, on_device, on_host, how, direct] {
      if (direct) return copy(on_device, on_host);
      const Tensor arrived = arrival(on_device, on_host);
      copy(on_device, arrived);
      take(arrived, on_host, how);
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

  // The place on the host of what is converted or added there.
  Tensor arrival(const Tensor& on_device, const Tensor& on_host) const {
    return empty(on_host.shape(), on_device.dtype(), host_.device, MemoryKind::gradients);
  }
  static void take(const Tensor& arrived, const Tensor& on_host, Arrives how) {
    if (how == Arrives::replaces) return on_host.convert_(arrived);
    const bool same = arrived.dtype() == on_host.dtype();
    on_host.reduce_(same ? arrived : arrived.to(on_host.dtype()), ReduceOp::sum);
  }

  // Neither device computes: the copy costs what the way costs.
  void copy(const Tensor& from, const Tensor& to) const {
    if (is_away(from)) {
      from.device().kernels().download(from, to.raw_bytes());
    } else if (is_away(to)) {
      to.device().kernels().upload(from.raw_bytes(), to);
    } else if (from.device().has_numbers()) {
      to.device().kernels().copy(from, to);
    }
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
