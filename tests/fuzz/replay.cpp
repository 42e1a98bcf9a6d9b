// Runs a target on every input of a tar archive, where there is no libFuzzer. The archive is one
// that GNU tar writes with --format=ustar: blocks of 512 bytes, a header before each file, and a
// file's size in octal digits at byte 124 of its header.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "grader/course/text/text_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t block = 512, name_bytes = 100, size_at = 124, type_at = 156;

struct Input {
  std::string name, content;
};

std::vector<Input> inputs_in(const std::string& archive) {
  std::vector<Input> inputs;
  for (std::size_t at = 0; at + block <= archive.size() && archive[at] != '\0';) {
    const std::string header = archive.substr(at, block);
    const std::size_t size = std::stoul(header.substr(size_at, 11), nullptr, 8);
    if (header[type_at] == '0') {
      inputs.push_back({header.substr(0, name_bytes).c_str(), archive.substr(at + block, size)});
    }
    at += block + (size + block - 1) / block * block;
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::vector<Input> inputs = inputs_in(lockstep::grader::read_text(argv[1]));
  for (const auto& [name, content] : inputs) {
    std::cout << name << std::endl;  // the last one named is the one
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
  }
  std::cout << inputs.size() << " inputs\n";
  return inputs.empty() ? 1 : 0;
}
