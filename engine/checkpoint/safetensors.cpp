#include "engine/checkpoint/safetensors.hpp"

#include <algorithm>
#include <array>

#include "engine/checkpoint/foreign_file.hpp"
#include "engine/tensor/kernels.hpp"

namespace lockstep::checkpoint {
namespace {

void refuse_foreign(const OldFile& file) {
  std::array<std::byte, first_bytes_max> first{};
  const auto there = std::span(first).first(std::min<std::uint64_t>(file.size(), first.size()));
  file.read(0, there);
  const std::string told = told_of_foreign_file(there);
  if (told.empty()) return;
  throw CheckpointError(
      text(file.path().string(), ": expected a safetensors file, and this ", told));
}

SafetensorsHeader read_header(const OldFile& file, std::uint64_t& data_start) {
  const std::string name = file.path().string();
  refuse_foreign(file);
  std::array<std::byte, 8> first{};
  if (file.size() >= first.size()) file.read(0, first);
  const std::uint64_t length = header_length(first, file.size(), name);
  std::vector<std::byte> json(static_cast<std::size_t>(length));
  file.read(first.size(), json);
  data_start = first.size() + length;
  return parse_header(json, file.size() - data_start, name);
}

}  // namespace

std::string quoted(const std::string& name) {
  constexpr std::size_t length_max = 80;
  std::string shown = name.substr(0, length_max);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text('"', shown, name.size() > length_max ? "…" : "", '"');
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file)
    : file_(file), data_start_(0), header_(read_header(file_, data_start_)) {
  for (std::size_t i = 0; i < header_.tensors.size(); ++i) places_[header_.tensors[i].name] = i;
}

const TensorEntry* SafetensorsFile::find(const std::string& name) const {
  const auto at = places_.find(name);
  return at == places_.end() ? nullptr : &header_.tensors[at->second];
}

Tensor SafetensorsFile::load(const TensorEntry& entry, Device& device, MemoryKind kind) const {
  Tensor tensor = empty(entry.shape, entry.dtype, device, kind);
  load_into(entry, tensor);
  return tensor;
}

void SafetensorsFile::load_into(const TensorEntry& entry, const Tensor& into) const {
  LOCKSTEP_CHECK(into.dtype() == entry.dtype && into.numel() == numel_of(entry.shape),
                 "load_into: ", path(), " has ", quoted(entry.name), " as ", name_of(entry.dtype),
                 " ", text_of(entry.shape), ", which does not fit into ", name_of(into.dtype()),
                 " ", text_of(into.shape()));
  load_range(entry, 0, into);
}

void SafetensorsFile::load_range(const TensorEntry& entry, std::int64_t begin,
                                 const Tensor& into) const {
  LOCKSTEP_CHECK(
      into.dtype() == entry.dtype && begin >= 0 && begin <= numel_of(entry.shape) - into.numel(),
      "load_range: ", path(), " has ", quoted(entry.name), " as ", name_of(entry.dtype), " ",
      text_of(entry.shape), ", of which ", name_of(into.dtype()), " elements ", begin, " to ",
      begin + into.numel(), " are no part");
  Device& device = into.device();
  const Tensor here = device.on_host() ? into : empty(into.shape(), into.dtype(), device.host());
  read(entry, begin, here.raw_bytes());
  if (!device.on_host()) device.kernels().upload(here.raw_bytes(), into);
}

void SafetensorsFile::load_boxes(const TensorEntry& entry, const Boxes& boxes,
                                 const Tensor& into) const {
  LOCKSTEP_CHECK(into.dtype() == entry.dtype && into.numel() == numel_of(boxes),
                 "load_boxes: ", path(), " has ", quoted(entry.name), " as ", name_of(entry.dtype),
                 ", and ", numel_of(boxes), " elements of it are asked for, which do not fit into ",
                 name_of(into.dtype()), " ", text_of(into.shape()));
  Device& device = into.device();
  const Tensor here = device.on_host() ? into : empty(into.shape(), into.dtype(), device.host());
  std::span<std::byte> left = here.raw_bytes();
  for (const Box& box : boxes) {
    for_runs(entry.shape, box, [&](std::int64_t first, std::int64_t count) {
      const std::size_t bytes = static_cast<std::size_t>(count) * bytes_of(entry.dtype);
      read(entry, first, left.first(bytes));
      left = left.subspan(bytes);
    });
  }
  if (!device.on_host()) device.kernels().upload(here.raw_bytes(), into);
}

void SafetensorsFile::read(const TensorEntry& entry, std::int64_t first,
                           std::span<std::byte> into) const {
  const auto skipped = static_cast<std::uint64_t>(first) * bytes_of(entry.dtype);
  file_.read(data_start_ + entry.begin + skipped, into);
}

}  // namespace lockstep::checkpoint
