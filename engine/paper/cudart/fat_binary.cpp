// Finding the PTX among the entries.
#include "engine/paper/cudart/fat_binary.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockstep::paper {
namespace {

constexpr std::uint32_t wrapper_magic = 0x466243b1, header_magic = 0xba55ed50;
constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;

struct Wrapper {
  std::uint32_t magic, version;
  const std::byte* data;
};

struct Header {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;
};

struct FatBinaryEntry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint32_t compressed_bytes, options_at;
  std::uint16_t minor, major;
  std::uint32_t architecture, name_at, name_bytes;
  std::uint64_t flags;
};
static_assert(offsetof(FatBinaryEntry, architecture) == 28 &&
              offsetof(FatBinaryEntry, flags) == 40);

template <typename T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

constexpr const char* advice =
    "; compile with -gencode 'arch=compute_80,code=[compute_80,sm_80,sm_90]' --no-compress";

}  // namespace

FatBinary read_fat_binary(const void* address) {
  const auto wrapper = read<Wrapper>(static_cast<const std::byte*>(address));
  if (wrapper.magic != wrapper_magic || wrapper.data == nullptr) {
    return {{}, "the program registers a fat binary of a kind that paper does not know"};
  }
  const auto header = read<Header>(wrapper.data);
  if (header.magic != header_magic) {
    return {{}, "a fat binary begins with other bytes than nvcc 13.0 writes"};
  }
  const std::byte* at = wrapper.data + header.header_bytes;
  const std::byte* end = at + header.bytes;
  std::string refusal = std::string("the program holds no PTX, only machine code") + advice;
  while (at + sizeof(FatBinaryEntry) <= end) {
    const auto entry = read<FatBinaryEntry>(at);
    const std::byte* content = at + entry.header_bytes;
    if (entry.header_bytes < sizeof(FatBinaryEntry) ||
        entry.bytes > static_cast<std::size_t>(end - content)) {
      return {{}, "an entry of a fat binary reaches beyond its end"};
    }
    if (entry.kind == kind_ptx) {
      if ((entry.flags & (flag_lz4 | flag_zstd)) == 0) {
        const std::string_view text(reinterpret_cast<const char*>(content), entry.bytes);
        return {text.substr(0, text.find('\0')), {}};  // padded with zeros
      }
      refusal = std::string("the PTX of the program is compressed") + advice;
    }
    at = content + entry.bytes;
  }
  return {{}, refusal};
}

}  // namespace lockstep::paper
