// The memory that the ranks of one host share: one file without a name (memfd_create), mapped by
// every rank. Nothing of it lies in a file system: it ends with the last process that holds it,
// however that process ends.
//
//   [ head: layout ][ control block of the first group ][ arena of rank 0 ][ arena of rank 1 ] …
//
// Addresses differ from process to process, so what is shared names memory by its offset; offset 0
// is the head and therefore stands for "none". The file is sparse: a page exists once it is
// touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/comm/stores/socket.hpp"

namespace lockstep::comm::shm {

struct Layout {
  std::uint64_t control_bytes = 0;
  std::uint64_t arena_bytes = 0;  // of each rank
  std::uint64_t ranks = 0;
};

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Arenas that hold twice the machine's memory between them: what is spent first is the memory, not
// the arena.
std::uint64_t arena_bytes_for(std::uint64_t ranks);

class Segment {
 public:
  // Makes the file and maps it; its memory is zero. Throws CommError with the system's reason.
  explicit Segment(const Layout& layout);
  // Maps a file that another process made.
  explicit Segment(Descriptor file);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const Descriptor& file() const { return file_; }
  std::uint64_t ranks() const { return layout_.ranks; }
  std::uint64_t arena_bytes() const { return layout_.arena_bytes; }
  std::uint64_t control_at() const { return page_bytes; }
  std::uint64_t arena_at(int rank) const {
    return page_bytes + layout_.control_bytes +
           static_cast<std::uint64_t>(rank) * layout_.arena_bytes;
  }

  std::byte* at(std::uint64_t offset) const { return base_ + offset; }
  template <typename T>
  T& object(std::uint64_t offset) const {
    return *reinterpret_cast<T*>(base_ + offset);
  }
  // The offset of `bytes` from `data` on in the segment; nothing if they do not lie in it.
  std::optional<std::uint64_t> offset_of(const std::byte* data, std::size_t bytes) const;

 private:
  std::uint64_t bytes() const;
  void map();

  Descriptor file_;
  Layout layout_;
  std::byte* base_ = nullptr;
};

}  // namespace lockstep::comm::shm
