#include "engine/checkpoint/safetensors.hpp"

#include <algorithm>
#include <array>

#include "engine/checkpoint/foreign_file.hpp"

namespace lockstep::checkpoint {
namespace {

void refuse_foreign(const ReadBytes& read, std::uint64_t file_bytes, const std::string& file) {
  std::array<std::byte, first_bytes_max> first{};
  const auto there = std::span(first).first(std::min<std::uint64_t>(file_bytes, first.size()));
  read(0, there);
  const std::string told = told_of_foreign_file(there);
  if (told.empty()) return;
  throw CheckpointError(text(file, ": expected a safetensors file, and this ", told));
}

OpenedHeader open_header(const OldFile& file) {
  return read_header([&](std::uint64_t at, std::span<std::byte> into) { file.read(at, into); },
                     file.size(), file.path().string());
}

}  // namespace

OpenedHeader read_header(const ReadBytes& read, std::uint64_t file_bytes, const std::string& file) {
  refuse_foreign(read, file_bytes, file);
  std::array<std::byte, 8> first{};
  if (file_bytes >= first.size()) read(0, first);
  const std::uint64_t length = header_length(first, file_bytes, file);
  std::vector<std::byte> json(static_cast<std::size_t>(length));
  read(first.size(), json);
  const std::uint64_t start = first.size() + length;
  return {parse_header(json, file_bytes - start, file), start};
}

std::string quoted(const std::string& name) {
  constexpr std::size_t length_max = 80;
  std::string shown = name.substr(0, length_max);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text('"', shown, name.size() > length_max ? "…" : "", '"');
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file)
    : file_(file), opened_(open_header(file_)) {
  remember_names();
}

void SafetensorsFile::read(const TensorEntry& entry, const Boxes& boxes,
                           std::span<std::byte> into) const {
  for (const Box& box : boxes) {
    for_runs(entry.shape, box, [&](std::int64_t first, std::int64_t count) {
      const std::size_t element = bytes_of(entry.dtype);
      const std::size_t bytes = static_cast<std::size_t>(count) * element;
      const std::uint64_t skipped = static_cast<std::uint64_t>(first) * element;
      file_.read(opened_.data_start + entry.begin + skipped, into.first(bytes));
      into = into.subspan(bytes);
    });
  }
}

}  // namespace lockstep::checkpoint
