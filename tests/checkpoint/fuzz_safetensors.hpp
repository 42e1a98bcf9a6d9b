// What must hold for any bytes at all: they are refused with a CheckpointError, or they are a
// header with the invariants of engine/checkpoint/safetensors.hpp, which survives being written and
// read again. Anything else ends the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::test {

enum class Outcome : std::uint8_t { read, refused };

// Takes the bytes for a file.
Outcome read_or_refuse(std::span<const std::byte> bytes);

}  // namespace lockstep::test
