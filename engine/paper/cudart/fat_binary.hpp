// The fat binary that nvcc puts into a program: one entry for each kind of code. Paper runs the
// PTX and passes the machine code by, which ptxas made of that same PTX.
//
// Layout (as nvcc 13.0 writes it; little endian): a wrapper {magic, version, data, …} points at a
// header {magic, version, bytes of the header, bytes of what follows}, and then entry after entry
// {kind, version, bytes of its header, bytes of its content, …, flags}. NVIDIA documents none of
// it; what differs from it is refused in a sentence.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::paper {

struct FatBinary {
  std::string_view ptx;  // within the program; empty where there is none that can be read
  std::string refusal;   // then: why, and what to do
};

// `wrapper` is what __cudaRegisterFatBinary is given.
FatBinary read_fat_binary(const void* wrapper);

}  // namespace lockstep::paper
