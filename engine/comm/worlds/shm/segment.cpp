#include "engine/comm/worlds/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/error.hpp"

namespace lockstep::comm::shm {

namespace {

[[noreturn]] void refuse(const char* what) {
  throw CommError(text("shared memory: ", what, " failed (", std::strerror(errno),
                       "); --transport gloo does without it"));
}

}  // namespace

std::uint64_t arena_bytes_for(std::uint64_t ranks) {
  const auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  constexpr std::uint64_t least = 64ULL << 20;
  return round_up(std::max(2 * memory / ranks, least), page_bytes);
}

Segment::Segment(const Layout& layout)
    : file_(memfd_create("lockstep", MFD_CLOEXEC | MFD_ALLOW_SEALING)), layout_(layout) {
  if (file_.get() < 0) refuse("memfd_create");
  if (ftruncate(file_.get(), static_cast<off_t>(bytes())) != 0) refuse("ftruncate");
  // No process may take away memory under another one's feet.
  fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  map();
  std::memcpy(base_, &layout_, sizeof layout_);
}

Segment::Segment(Descriptor file) : file_(std::move(file)) {
  if (pread(file_.get(), &layout_, sizeof layout_, 0) != sizeof layout_) refuse("reading its head");
  struct stat state {};
  if (fstat(file_.get(), &state) != 0 || static_cast<std::uint64_t>(state.st_size) != bytes()) {
    throw CommError(
        "shared memory: the file is not as long as its head says; do all ranks run the "
        "same build?");
  }
  map();
}

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, bytes());
}

std::uint64_t Segment::bytes() const { return arena_at(static_cast<int>(layout_.ranks)); }

void Segment::map() {
  void* const memory =
      mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (memory == MAP_FAILED) refuse("mmap");
  base_ = static_cast<std::byte*>(memory);
  // A crashed rank's core file holds the control block and not its peers' data.
  madvise(at(arena_at(0)), bytes() - arena_at(0), MADV_DONTDUMP);
}

std::optional<std::uint64_t> Segment::offset_of(const std::byte* data, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const auto begin = reinterpret_cast<std::uintptr_t>(base_);
  if (data == nullptr || address < begin || address + bytes > begin + this->bytes()) return {};
  return address - begin;
}

}  // namespace lockstep::comm::shm
