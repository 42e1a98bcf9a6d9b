// Memory files, mapped twice, and their protection.
#include "engine/paper/order/pinned.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace lockstep::paper {
namespace {

constexpr std::uintptr_t page_bytes = 4096;

std::size_t whole_pages(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + page_bytes - 1) / page_bytes * page_bytes;
}

std::byte* map(int file, std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

// Sets the protection of all pages with a byte of [first, end).
void set_protection(std::byte* first, std::byte* end, int protection) {
  const auto from = reinterpret_cast<std::uintptr_t>(first) / page_bytes * page_bytes;
  const auto to = reinterpret_cast<std::uintptr_t>(end);
  mprotect(reinterpret_cast<void*>(from), to - from, protection);
}

bool overlap(const std::byte* a, const std::byte* a_end, const std::byte* b,
             const std::byte* b_end) {
  return a < b_end && b < a_end;
}

const char* doing(Use use) { return use == Use::write ? "writes" : "reads"; }

}  // namespace

PinnedMemory::~PinnedMemory() {
  for (const auto& [start, allocation] : allocations_) {
    munmap(allocation.host, allocation.mapped_bytes);
    munmap(allocation.alias, allocation.mapped_bytes);
  }
}

void* PinnedMemory::allocate(std::size_t bytes) {
  const std::size_t mapped = whole_pages(bytes);
  const int file = memfd_create("paper-pinned", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  std::byte* host = nullptr;
  std::byte* alias = nullptr;
  if (ftruncate(file, static_cast<off_t>(mapped)) == 0) {
    host = map(file, mapped);
    alias = map(file, mapped);
  }
  close(file);
  if (host == nullptr || alias == nullptr) {
    if (host != nullptr) munmap(host, mapped);
    if (alias != nullptr) munmap(alias, mapped);
    return nullptr;
  }
  allocations_[host] = {host, alias, bytes, mapped, timeline_.last()};
  return host;
}

bool PinnedMemory::release(void* address) {
  const auto found = allocations_.find(static_cast<const std::byte*>(address));
  if (found == allocations_.end()) return false;
  const Allocation& gone = found->second;
  std::erase_if(held_, [&](const Held& held) {
    return overlap(held.first, held.end, gone.host, gone.host + gone.mapped_bytes);
  });
  munmap(gone.host, gone.mapped_bytes);
  munmap(gone.alias, gone.mapped_bytes);
  allocations_.erase(found);
  return true;
}

const PinnedMemory::Allocation* PinnedMemory::find(const void* address) const {
  const auto* at = static_cast<const std::byte*>(address);
  auto after = allocations_.upper_bound(at);
  if (after == allocations_.begin()) return nullptr;
  const Allocation& candidate = std::prev(after)->second;
  return at < candidate.host + candidate.mapped_bytes ? &candidate : nullptr;
}

std::byte* PinnedMemory::alias(const void* address, std::size_t bytes) const {
  const Allocation* allocation = find(address);
  if (allocation == nullptr) return nullptr;
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(address) - allocation->host);
  if (offset > allocation->bytes || bytes > allocation->bytes - offset) return nullptr;
  return allocation->alias + offset;
}

std::optional<Operation> PinnedMemory::user_of(const void* address) const {
  const Allocation* allocation = find(address);
  if (allocation == nullptr) return std::nullopt;
  for (const Held& held : held_) {
    if (timeline_.host_knows(held.operation)) continue;
    if (overlap(held.first, held.end, allocation->host, allocation->host + allocation->bytes)) {
      return held.operation;
    }
  }
  return std::nullopt;
}

void PinnedMemory::hold(Operation operation, Use use, const void* address, std::size_t bytes) {
  const Allocation* allocation = find(address);
  if (allocation == nullptr || bytes == 0) return;
  auto* first = const_cast<std::byte*>(static_cast<const std::byte*>(address));
  const Held held{operation, use, first, first + bytes};
  for (const Held& other : held_) {
    if (!overlap(held.first, held.end, other.first, other.end)) continue;
    if (held.use == Use::read && other.use == Use::read) continue;
    if (timeline_.before(other.operation, operation)) continue;
    findings_.add(Kind::stream_race, Where{},
                  timeline_.describe(operation) + " " + doing(held.use) +
                      " pinned host memory that " + timeline_.describe(other.operation) + " " +
                      doing(other.use) +
                      "; nothing orders the two: a wait for an event is missing, or "
                      "each needs a buffer of its own");
  }
  held_.push_back(held);
  protect(held);
}

void PinnedMemory::protect(const Held& held) {
  // A page keeps the stricter of two rules, whichever came first.
  int protection = held.use == Use::write ? PROT_NONE : PROT_READ;
  if (protection == PROT_READ) {
    for (const Held& other : held_) {
      if (other.use == Use::write &&
          overlap(held.first - page_bytes, held.end + page_bytes, other.first, other.end)) {
        protection = PROT_NONE;
      }
    }
  }
  set_protection(held.first, held.end, protection);
}

void PinnedMemory::let_go() {
  std::vector<Held> gone;
  std::erase_if(held_, [&](const Held& held) {
    const bool known = timeline_.host_knows(held.operation);
    if (known) gone.push_back(held);
    return known;
  });
  for (const Held& held : gone) set_protection(held.first, held.end, PROT_READ | PROT_WRITE);
  if (gone.empty()) return;
  for (const Held& held : held_) protect(held);
}

std::optional<PinnedMemory::Touched> PinnedMemory::touched_by_host(const void* address, Use use) {
  if (find(address) == nullptr) return std::nullopt;
  auto* at = const_cast<std::byte*>(static_cast<const std::byte*>(address));
  Touched touched;
  for (const Held& held : held_) {
    if (at < held.first || at >= held.end) continue;
    if (use == Use::read && held.use == Use::read) continue;
    touched.sentence = std::string(" ") + doing(use) + " pinned memory that " +
                       timeline_.describe(held.operation) + " " + doing(held.use) +
                       ", before it has waited for it; call cudaStreamSynchronize or "
                       "cudaEventSynchronize first";
    break;
  }
  set_protection(at, at + 1, PROT_READ | PROT_WRITE);
  return touched;
}

std::vector<PinnedMemory::Leak> PinnedMemory::leaks() const {
  std::vector<Leak> left;
  for (const auto& [start, allocation] : allocations_)
    left.push_back({allocation.bytes, allocation.after});
  return left;
}

}  // namespace lockstep::paper
