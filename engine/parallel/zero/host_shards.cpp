#include "engine/parallel/zero/host_shards.hpp"

namespace lockstep::zero {

void HostShards::lower(const Tensor& gradient, Tensor& sum, DType dtype) {
  settle();
  const auto how = sum.defined() ? HostLink::Arrives::adds : HostLink::Arrives::replaces;
  if (!sum.defined()) sum = empty(gradient.shape(), dtype, host(), MemoryKind::gradients);
  falling_ = gradient;
  fall_ = link_.down(gradient, sum, how);
}

void HostShards::settle() {
  await(fall_);
  falling_ = {};
}

comm::Work HostShards::raise(const Tensor& on_host, const Tensor& on_device) {
  return link_.up(on_host, on_device);
}

// Waits, and notes how long the copy ran and how long this rank stood. A GPU's clock is not read.
void HostShards::await(comm::Work& work) {
  if (work.complete()) return;
  if (falling_.defined() && falling_.device().numbers() == Numbers::away) return work.wait();
  const double began_s = clock_.now_s();
  work.wait();
  const double waited_s = clock_.now_s() - began_s;
  exposed_s_ += waited_s;
  total_s_ += work.ran_s().value_or(waited_s);
}

HostCopies HostShards::copies() const {
  const auto [down, up] = link_.traffic();
  return {{down - before_.down, up - before_.up}, total_s_, exposed_s_};
}

void HostShards::reset() {
  before_ = link_.traffic();
  total_s_ = exposed_s_ = 0;
}

}  // namespace lockstep::zero
