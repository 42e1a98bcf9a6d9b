// The property, and libFuzzer's entry point to it; fuzz_driver.cpp runs it where there is no
// libFuzzer. With clang, in place of the driver, from the root of the repository:
//   clang++ -std=c++20 -O1 -g -fsized-deallocation -fsanitize=fuzzer,address,undefined -I.
//     tests/checkpoint/fuzz_safetensors.cpp engine/checkpoint/{file,safetensors*}.cpp
//     engine/tensor/{tensor,device}.cpp engine/base/*.cpp -o fuzz
#include "tests/checkpoint/fuzz_safetensors.hpp"

#include <algorithm>

#include "engine/checkpoint/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lockstep::test {
namespace {

using namespace lockstep::checkpoint;

SafetensorsHeader read(std::span<const std::byte> bytes) {
  const auto length = static_cast<std::size_t>(
      header_length(bytes.first(std::min<std::size_t>(8, bytes.size())), bytes.size(), "fuzz"));
  return parse_header(bytes.subspan(8, length), bytes.size() - 8 - length, "fuzz");
}

// A ContractError is caught by nobody: it ends the program.
void check_accepted(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  std::uint64_t place = 0;
  for (const TensorEntry& tensor : header.tensors) {
    const auto bytes = static_cast<std::uint64_t>(numel_of(tensor.shape)) * bytes_of(tensor.dtype);
    LOCKSTEP_CHECK(tensor.begin == place, "a hole or an overlap was accepted");
    LOCKSTEP_CHECK(tensor.end - tensor.begin == bytes, "offsets unlike the shape were accepted");
    place = tensor.end;
  }
  LOCKSTEP_CHECK(place == data_bytes, "bytes after the last tensor were accepted");
  const std::string again = header_text(header);
  const auto json = std::as_bytes(std::span(again)).subspan(8);
  LOCKSTEP_CHECK(parse_header(json, data_bytes, "again") == header, "it changed when written");
}

}  // namespace

Outcome read_or_refuse(std::span<const std::byte> bytes) {
  try {
    const SafetensorsHeader header = read(bytes);
    check_accepted(header, bytes.size() - 8 - header_length(bytes.first(8), bytes.size(), "fuzz"));
    return Outcome::read;
  } catch (const CheckpointError&) {
    return Outcome::refused;
  }
}

}  // namespace lockstep::test

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::test::read_or_refuse(std::as_bytes(std::span(data, size)));
  return 0;
}
