// Files that people take for weights: what they are, by their first bytes, and what to do.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep::checkpoint {

constexpr std::size_t first_bytes_max = 512;  // a tar archive names itself at byte 257

// Says what a file is that begins with these bytes, and what a person can do: "is a Git LFS
// pointer, which stands for the file: …". Empty for a safetensors file, and where the bytes say
// nothing.
std::string told_of_foreign_file(std::span<const std::byte> first);

}  // namespace lockstep::checkpoint
