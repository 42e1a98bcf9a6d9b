// The engine's half of interoperate.py:
//   interoperate_checkpoint write FILE   writes tensors of every dtype, any bits
//   interoperate_checkpoint print FILE   prints a line a tensor: name, dtype, shape, bytes in hex
#include <iomanip>
#include <iostream>

#include "engine/base/random.hpp"
#include "engine/checkpoint/safetensors.hpp"

using namespace lockstep;
using checkpoint::NamedTensor;

namespace {

void write(const std::string& file) {
  CpuDevice device;
  std::vector<NamedTensor> tensors;
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 0}, Shape{2, 3, 4}}) {
      const Tensor tensor = empty(shape, dtype, device);
      const auto seed = static_cast<std::uint64_t>(tensors.size());
      std::uint64_t index = 0;
      for (std::byte& byte : tensor.raw_bytes()) {
        byte = static_cast<std::byte>(random_bits(seed, index++));
      }
      tensors.push_back({text("layer \"", name_of(dtype), "\".", text_of(shape)), tensor});
    }
  }
  checkpoint::write_safetensors(file, tensors, {{"format", "pt"}});
}

void print(const std::string& path) {
  CpuDevice device;
  const checkpoint::SafetensorsFile file(path);
  for (const auto& entry : file.tensors()) {
    std::cout << entry.name << '\t' << name_of(entry.dtype) << '\t' << text_of(entry.shape) << '\t'
              << std::hex << std::setfill('0');
    const Tensor tensor = file.load(entry, device);
    for (const std::byte byte : tensor.raw_bytes()) {
      std::cout << std::setw(2) << static_cast<int>(byte);
    }
    std::cout << std::dec << '\n';
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string verb = count == 3 ? arguments[1] : "";
  try {
    if (verb == "write") return write(arguments[2]), 0;
    if (verb == "print") return print(arguments[2]), 0;
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  std::cerr << "interoperate_checkpoint write FILE | print FILE\n";
  return 2;
}
