// One copy is an operation with two ends.
#include "engine/paper/cudart/copy.hpp"

#include <cstring>
#include <memory>
#include <string>

#include "engine/paper/cudart/host_touch.hpp"

namespace lockstep::paper {
namespace {

// One end of a copy.
struct End {
  GpuDevice* device = nullptr;  // nullptr: the host's memory
  std::byte* at = nullptr;      // where the bytes can be touched
  std::uint64_t address = 0;    // as the program names it
  bool pinned = false;
};

End end_of(Runtime& state, const void* pointer, std::size_t bytes) {
  End end;
  end.address = reinterpret_cast<std::uint64_t>(pointer);
  end.device = state.device_of(pointer);
  if (end.device != nullptr) {
    end.at = end.device->memory.alias(end.address);
    return end;
  }
  end.pinned = state.pinned().contains(pointer);
  if (end.pinned) {
    end.at = state.pinned().alias(pointer, bytes);
    if (end.at == nullptr) {
      state.refuse(cudaErrorInvalidValue, Kind::out_of_bounds,
                   std::to_string(bytes) + " bytes reach beyond the end of the pinned host memory");
    }
    return end;
  }
  if (pointer == nullptr) {
    state.refuse(cudaErrorInvalidValue, Kind::bad_call, "one of the two addresses is null");
  }
  end.at = static_cast<std::byte*>(const_cast<void*>(pointer));
  return end;
}

const char* text_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return "cudaMemcpyHostToHost";
    case cudaMemcpyHostToDevice:
      return "cudaMemcpyHostToDevice";
    case cudaMemcpyDeviceToHost:
      return "cudaMemcpyDeviceToHost";
    case cudaMemcpyDeviceToDevice:
      return "cudaMemcpyDeviceToDevice";
    case cudaMemcpyDefault:
      return "cudaMemcpyDefault";
  }
  return "no kind of copy";
}

void check_kind(Runtime& state, cudaMemcpyKind kind, const End& to, const End& from) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    state.refuse(
        cudaErrorInvalidMemcpyDirection, Kind::bad_call,
        "the kind of copy is " + std::to_string(static_cast<int>(kind)) + ", which is none");
  }
  if (kind == cudaMemcpyDefault) return;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool source_fits = (from.device != nullptr) == from_device;
  if (source_fits && (to.device != nullptr) == to_device) return;
  const End& wrong = source_fits ? to : from;
  state.refuse(cudaErrorInvalidValue, Kind::bad_call,
               std::string("the kind is ") + text_of(kind) + ", but the " +
                   (source_fits ? "destination" : "source") + " is memory of the " +
                   (wrong.device == nullptr ? "host" : "device") +
                   "; name the kind that fits, or cudaMemcpyDefault");
}

// CUDA looks at once whether the bytes lie in one allocation.
bool fits(const End& end, std::size_t bytes) {
  if (end.device == nullptr) return true;
  const std::uint64_t start = end.device->memory.allocation_of(end.address);
  return start != 0 && bytes <= end.device->memory.bytes_of(start) - (end.address - start);
}

// Says that the operation touches the end; the device fails where it may not.
bool touch(Runtime& state, Touch touch, const End& end, std::size_t bytes, Operation operation) {
  if (end.device == nullptr) return true;
  if (end.device->memory.touch_range(touch, end.address, bytes, operation,
                                     state.timeline().name_of(operation))) {
    return true;
  }
  state.fail(*end.device, cudaErrorIllegalAddress);
  return false;
}

void check_fit(Runtime& state, const Runtime::Queue& queue, Touch how, const End& end,
               std::size_t bytes) {
  if (fits(end, bytes)) return;
  const Operation refused = state.enqueue(queue, state.function, [](Operation) {});
  end.device->memory.touch_range(how, end.address, bytes, refused, state.function);  // the finding
  throw Failed{cudaErrorInvalidValue};
}

void check_overlap(Runtime& state, const Copy& what) {
  const auto* to = static_cast<const std::byte*>(what.to);
  const auto* from = static_cast<const std::byte*>(what.from);
  if (to < from + what.bytes && from < to + what.bytes) {
    state.refuse(cudaErrorInvalidValue, Kind::bad_call,
                 "source and destination overlap, and CUDA says nothing of what then happens; copy "
                 "through another buffer");
  }
}

}  // namespace

cudaError_t copy(Runtime& state, const Copy& what, cudaStream_t stream, Waiting waiting) {
  const Runtime::Queue asked = state.queue(stream);
  if (what.bytes == 0) return cudaSuccess;
  // cudaMemcpy names no stream that a program could take for another.
  const Runtime::Queue queue =
      waiting == Waiting::synchronous ? asked : state.queue_of_launch(stream);
  const End to = end_of(state, what.to, what.bytes), from = end_of(state, what.from, what.bytes);
  check_kind(state, what.kind, to, from);
  check_fit(state, queue, Touch::read, from, what.bytes);
  check_fit(state, queue, Touch::write, to, what.bytes);
  check_overlap(state, what);

  const bool synchronous = waiting == Waiting::synchronous;
  const bool host_to_host = to.device == nullptr && from.device == nullptr;
  const bool staged = from.device == nullptr && !from.pinned && to.device != nullptr;
  if (host_to_host || (staged && synchronous)) state.wait_for(state.timeline().now(queue.track));
  std::shared_ptr<std::vector<std::byte>> stage;
  if (staged) stage = std::make_shared<std::vector<std::byte>>(from.at, from.at + what.bytes);

  const Operation operation = state.enqueue(
      queue, state.function, [&state, to, from, stage, bytes = what.bytes](Operation self) {
        if (!touch(state, Touch::read, from, bytes, self)) return;
        if (!touch(state, Touch::write, to, bytes, self)) return;
        std::memcpy(to.at, stage == nullptr ? from.at : stage->data(), bytes);
      });
  if (from.pinned || to.pinned) catch_host_touches();
  if (from.pinned) state.pinned().hold(operation, Use::read, what.from, what.bytes);
  if (to.pinned) state.pinned().hold(operation, Use::write, what.to, what.bytes);

  const bool to_pageable = to.device == nullptr && !to.pinned;
  const bool between_devices = to.device != nullptr && from.device != nullptr;
  if (to_pageable || host_to_host || (synchronous && !staged && !between_devices)) {
    state.wait_for(state.timeline().now(queue.track));
  }
  return queue.device.failure;
}

cudaError_t set(Runtime& state, void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
  const Runtime::Queue asked = state.queue(stream);
  if (bytes == 0) return cudaSuccess;
  const Runtime::Queue queue = stream == nullptr ? asked : state.queue_of_launch(stream);
  const End to = end_of(state, pointer, bytes);
  if (to.device == nullptr && !to.pinned) {
    state.refuse(cudaErrorInvalidValue, Kind::bad_call,
                 "the address is memory of the host; cudaMemset wants the device's");
  }
  check_fit(state, queue, Touch::write, to, bytes);
  const Operation operation =
      state.enqueue(queue, state.function, [&state, to, value, bytes](Operation self) {
        if (touch(state, Touch::write, to, bytes, self)) std::memset(to.at, value, bytes);
      });
  if (to.pinned) state.pinned().hold(operation, Use::write, pointer, bytes);
  return queue.device.failure;
}

}  // namespace lockstep::paper
