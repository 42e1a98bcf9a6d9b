// The safetensors format: named tensors in a file that says all about itself before the first
// element, and can be read without running anything it contains.
//
//   8 bytes       n, the length of the header, little-endian
//   n bytes       JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …},
//                 and under "__metadata__" an object of strings; spaces may follow
//   the rest      the elements, row-major, little-endian; offsets count from here
//
// Files come from anywhere, so the reader believes nothing. Invariants of every header it returns
//   1. Names are unique; each tensor has offsets [begin, end) with end - begin = its elements times
//      the bytes of one.
//   2. The tensors, in the order of their bytes, fill the file: no hole, no overlap, nothing after
//      the last one.
// Nothing is allocated by a number that was read before that number was checked. Left out: dtypes
// that the engine lacks (BOOL, F8_E4M3, …), which are refused by name. Source: [SAFE].
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/file.hpp"
#include "engine/checkpoint/saved_tensors.hpp"

namespace lockstep::checkpoint {

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of their bytes
  Metadata metadata;
  bool operator==(const SafetensorsHeader&) const = default;
};

constexpr std::uint64_t header_bytes_max = 100'000'000;  // the bound of the format's own reader
constexpr std::size_t dimensions_max = 64;

// The bytes of the header that are `first` 8 bytes of a file of `file_bytes`.
//   Throws  CheckpointError, which names `file`, when there is no room for them
std::uint64_t header_length(std::span<const std::byte> first, std::uint64_t file_bytes,
                            const std::string& file);
// The header `json`, of a file with `data_bytes` after it.
//   Throws  CheckpointError, which names `file`, the tensor, what was expected and what was seen
SafetensorsHeader parse_header(std::span<const std::byte> json, std::uint64_t data_bytes,
                               const std::string& file);

// The bytes that a header is read from: fills a span from an offset on.
using ReadBytes = std::function<void(std::uint64_t offset, std::span<std::byte> into)>;
struct OpenedHeader {
  SafetensorsHeader header;
  std::uint64_t data_start;  // the first byte after it, in the file
};
//   Throws  CheckpointError as header_length and parse_header, and for files of other formats
OpenedHeader read_header(const ReadBytes& read, std::uint64_t file_bytes, const std::string& file);

// The first bytes of the file that holds `tensors` in the order given: length, JSON, and spaces up
// to a multiple of 8. Entries and metadata are what parse_header would return.
std::string header_text(const SafetensorsHeader& header);

// The header of a file with these tensors, in the order in which they are written: widest dtype
// first (I64, F64, F32, I32, BF16, F16, I8, U8), names in order within a dtype, which keeps every
// tensor aligned to its elements.
SafetensorsHeader header_of(std::span<const NamedTensor> tensors, const Metadata& metadata);

// Writes tensors to `file`, whole or not at all (file.hpp). The same tensors and metadata give the
// same bytes.
//   Throws  ContractError when a name is there twice, is not UTF-8 or is "__metadata__";
//           CheckpointError when the disk refuses
void write_safetensors(const std::filesystem::path& file, std::span<const NamedTensor> tensors,
                       const Metadata& metadata = {});

// An open file: its header was read and checked, its elements are read when asked for. Of boxes it
// reads their bytes only, a row of a box at a time.
class SafetensorsFile final : public SavedTensors {
 public:
  //   Throws  CheckpointError as header_length and parse_header
  explicit SafetensorsFile(const std::filesystem::path& file);

  std::string path() const override { return file_.path().string(); }
  std::span<const TensorEntry> tensors() const override { return opened_.header.tensors; }
  const Metadata& metadata() const override { return opened_.header.metadata; }

 private:
  void read(const TensorEntry& entry, const Boxes& boxes, std::span<std::byte> into) const override;

  OldFile file_;
  OpenedHeader opened_;
};

// A name for a message: in quotes, at most 80 characters, control characters as ?.
std::string quoted(const std::string& name);

}  // namespace lockstep::checkpoint
