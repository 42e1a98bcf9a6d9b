#include "engine/comm/worlds/sim/simulated_device.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/units.hpp"
#include "engine/tensor/no_kernels.hpp"

namespace lockstep::comm {

namespace {

// The kind that takes most of the memory decides the advice.
std::string_view advice_for(MemoryKind most) {
  switch (most) {
    case MemoryKind::activations:
      return "activations follow the batch: fewer samples in a batch (--batch-size, and "
             "--accumulate to "
             "keep the global batch), or compute them again in backward (--recompute)";
    case MemoryKind::parameters:
    case MemoryKind::gradients:
    case MemoryKind::optimizer_state:
      return "these follow the model, and every rank holds all of it: a smaller model, or one "
             "that is sharded over the ranks; more ranks alone change nothing";
    case MemoryKind::buffers:
      break;
  }
  return "scratch space of operations and batches: smaller batches need less";
}

}  // namespace

SimulatedDevice::SimulatedDevice(sim::Port& port, int rank, const sim::DeviceModel& model,
                                 DType computes, Elements elements,
                                 const kernels::Products& products)
    : Device(elements == Elements::numbers ? Numbers::on_host : Numbers::none),
      port_(port),
      rank_(rank),
      model_(model),
      flops_s_(model.flops_s(computes)),
      bytes_s_(model.bytes_s()),
      host_(products) {}

const Kernels& SimulatedDevice::kernels() const {
  return has_numbers() ? host_.kernels() : no_kernels();
}

std::byte* SimulatedDevice::allocate(std::size_t bytes) {
  if (std::cmp_greater(bytes, model_.memory_bytes - bytes_now())) {
    throw OutOfMemory(out_of_memory(bytes));
  }
  return has_numbers() ? host_.allocate(bytes) : nullptr;
}

void SimulatedDevice::release(std::byte* data, std::size_t bytes) noexcept {
  if (data != nullptr) host_.release(data, bytes);
}

void SimulatedDevice::charge(double flops, double bytes) {
  Device::charge(flops, bytes);
  const double seconds = model_.start_s + std::max(flops / flops_s_, bytes / bytes_s_);
  charged_s_ += seconds;
  port_.compute(seconds);
  if (told_) told_();
}

std::string SimulatedDevice::out_of_memory(std::size_t asked) const {
  std::string table;
  MemoryKind most = MemoryKind::parameters;
  for (std::size_t i = 0; i < memory_kinds; ++i) {
    const auto row = static_cast<MemoryKind>(i);
    if (bytes_now(row) > bytes_now(most)) most = row;
    std::string name(name_of(row));
    name.resize(18, ' ');
    table += text("\n  ", name, bytes_text(bytes_now(row)));
  }
  const std::int64_t left = model_.memory_bytes - bytes_now();
  return text("out of memory: rank ", rank_, " asks its ", model_.name, " for ",
              bytes_text(static_cast<std::int64_t>(asked)), " more; of ",
              bytes_text(model_.memory_bytes), " ", bytes_text(left), " are left:", table,
              "\nmost of it: ", name_of(most), "; ", advice_for(most));
}

}  // namespace lockstep::comm
