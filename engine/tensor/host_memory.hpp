// The machine that a device is in, as a place for state that the device has no room for: its
// memory, its processor, and the way between both.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/tensor/device.hpp"

namespace lockstep {

struct HostMemory {
  Device& device;
  // Passes the time that so many bytes take on the way, in either direction, on the strand that
  // calls. None: a copy takes as long as the machine needs for it.
  std::function<void(std::int64_t bytes)> carry{};
};

// Bytes that a rank copied between its device and its host.
struct HostTraffic {
  std::int64_t down = 0;  // from the device to the host
  std::int64_t up = 0;
  bool operator==(const HostTraffic&) const = default;
};

struct HostCopies {
  HostTraffic bytes{};
  double total_s = 0;    // that copies ran, both directions together
  double exposed_s = 0;  // of these, that the rank stood waiting
};

}  // namespace lockstep
