// The index of a checkpoint: all there is to know of it but the elements. Whoever has read it can
// read any part of any tensor, whatever ranks wrote it, and knows when a byte of it has changed.
//
//   {"format": "lockstep checkpoint 1",
//    "state": {"step": 500, "epoch": 3, …},            where the run is
//    "model": {"kind": "gpt", …},                      how the model is made
//    "optimizer": "adamw",
//    "block_bytes": 65536,
//    "files": [{"name": "model.safetensors", "bytes": 9424}, …],
//    "tensors": [{"name": "0.weight", "kind": "parameter", "dtype": "F32", "shape": [8, 6],
//                 "boxes": [{"begin": [0, 0], "end": [4, 6], "file": 0, "offset": 240,
//                            "checksums": "c0ffee…"}, …]}, …]}
//
// A box's elements lie row-major from byte `offset` of its file on. Its checksums are those of its
// blocks, block_bytes each but for the last one, with 16 digits each: so a part of a box can be
// read and be verified without the rest.
//
// The text comes from a disk, so the reader believes nothing. Invariants of every index it returns
//   1. No two tensors of one kind have one name; no two files have one.
//   2. A box has elements, lies in its tensor, and its bytes lie in a file of the list.
//   3. The boxes of a tensor do not overlap, and leave no hole, unless the text is that of a share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {

struct SavedBox {
  Box box;
  std::size_t file = 0;      // in Index::files
  std::uint64_t offset = 0;  // of its first byte, in the file
  std::vector<std::uint64_t> checksums;
  bool operator==(const SavedBox&) const = default;
};

struct IndexedTensor {
  PieceKind kind = PieceKind::parameter;
  std::string name = {};
  DType dtype = {};
  Shape shape = {};
  std::vector<SavedBox> boxes = {};
  bool operator==(const IndexedTensor&) const = default;
};

struct IndexedFile {
  std::string name;
  std::uint64_t bytes = 0;
  bool operator==(const IndexedFile&) const = default;
};

struct Index {
  TrainState state = {};
  Metadata model = {};
  std::string optimizer = {};
  std::vector<IndexedFile> files = {};
  std::vector<IndexedTensor> tensors = {};
  bool operator==(const Index&) const = default;
};

constexpr const char* index_file = "index.json";
constexpr std::uint64_t block_bytes = 1 << 16;
constexpr std::uint64_t index_bytes_max = 1 << 30;

// The checksums of a box's blocks.
std::vector<std::uint64_t> checksums_of_blocks(std::span<const std::byte> bytes);

// `all`: an index of a whole checkpoint; `share`: of the part that one of several writers wrote.
enum class Covers : std::uint8_t { all, share };

std::string index_text(const Index& index);
//   Throws  CheckpointError, which names `where` and the tensor, what was expected and what was
//           seen
Index parse_index(const std::string& json, const std::string& where, Covers covers);

// Puts shares together, in their order.
//   Throws  CheckpointError when there are none, or when they disagree about a tensor, overlap, or
//           leave a hole
Index joined(const std::vector<Index>& shares, const std::string& where);

}  // namespace lockstep::checkpoint
