// A group for memory that is counted before a run: rank 0 of `size`, whose collectives are over at
// once. Tensors without numbers need no peer.
#pragma once

#include <array>

#include "engine/comm/process_group.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/model_spec.hpp"

namespace lockstep::train {

class Unheard final : public comm::ProcessGroup {
 public:
  explicit Unheard(int size) : ProcessGroup(0, size) {}
  std::string_view backend() const override { return "unheard"; }
  comm::Traffic traffic() const override { return {}; }

 protected:
  comm::Work start(const comm::Collective&, const comm::Where&) override { return {}; }
  std::unique_ptr<ProcessGroup> start_split(int, int, const comm::Where&) override {
    throw ContractError("a group that is not heard has no parts");
  }
  comm::Work start_send(const Tensor&, int, int, const comm::Where&) override { return {}; }
  comm::Work start_recv(Tensor, int, int, const comm::Where&) override { return {}; }
};

// At their peaks, which the kinds need not reach together.
struct MemoryPeaks {
  std::array<std::int64_t, memory_kinds> bytes{};  // by MemoryKind
  std::int64_t peak = 0;                           // of all kinds together
};
inline MemoryPeaks peaks_of(const Device& device) {
  MemoryPeaks seen;
  for (std::size_t i = 0; i < memory_kinds; ++i) {
    seen.bytes[i] = device.bytes_peak(static_cast<MemoryKind>(i));
  }
  seen.peak = device.bytes_peak();
  return seen;
}

// Tokens and labels, or inputs and labels, of `rows` samples.
inline data::Batch batch_of(const nn::ModelSpec& spec, std::int64_t rows, Device& device) {
  if (spec.kind == nn::ModelKind::gpt) {
    const Shape tokens{rows, spec.gpt.sequence};
    return {empty(tokens, DType::int64, device), empty(tokens, DType::int64, device)};
  }
  return {empty({rows, spec.widths.front()}, spec.dtype, device),
          empty({rows}, DType::int64, device)};
}

}  // namespace lockstep::train
