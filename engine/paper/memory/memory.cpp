// Allocations and their bounds.
#include "engine/paper/memory/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace lockstep::paper {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t allocation_align = 512, gap_bytes_min = 256;
constexpr std::size_t space_bytes_max = std::size_t{1} << 38,
                      space_bytes_min = std::size_t{1} << 28;

void* map(std::size_t bytes, int protection, int flags, int file) {
  void* at = ::mmap(nullptr, bytes, protection, flags | MAP_NORESERVE, file, 0);
  return at == MAP_FAILED ? nullptr : at;
}

std::string hexadecimal(std::uint64_t address) {
  std::ostringstream text;
  text << "0x" << std::hex << address;
  return text.str();
}

const char* did(Touch touch) {
  return touch == Touch::read    ? "a read of "
         : touch == Touch::write ? "a write of "
                                 : "an atomic of ";
}

constexpr const char* freed_words = ", which was freed";
bool was_freed(const std::string& distance) {
  return distance.find(freed_words) != std::string::npos;
}

}  // namespace

Memory::Memory(std::size_t bytes, const Ordering& ordering, Findings& findings, Checks checks)
    : ordering_(ordering), findings_(findings), capacity_(bytes), checks_(checks == Checks::on) {
  file_ = ::memfd_create("paper", MFD_CLOEXEC);
  if (file_ < 0)
    throw std::runtime_error("paper: the device's memory cannot be made (memfd_create)");
  // Addresses are never used again, so there are many more of them than memory.
  for (space_ = space_bytes_max; space_ >= space_bytes_min; space_ /= 2) {
    if (::ftruncate(file_, static_cast<off_t>(space_)) != 0) continue;
    void* host = map(space_, PROT_NONE, MAP_SHARED, file_);
    void* alias = map(space_, PROT_READ | PROT_WRITE, MAP_SHARED, file_);
    void* shadow = checks_ ? map(space_ / 4 * sizeof(Cell), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1)
                           : nullptr;
    if (host != nullptr && alias != nullptr && (shadow != nullptr || !checks_)) {
      base_ = reinterpret_cast<std::uint64_t>(host);
      alias_ = static_cast<std::byte*>(alias);
      shadow_ = static_cast<Cell*>(shadow);
      next_ = base_ + page_bytes;
      return;
    }
    if (host != nullptr) ::munmap(host, space_);
    if (alias != nullptr) ::munmap(alias, space_);
    if (shadow != nullptr) ::munmap(shadow, space_ / 4 * sizeof(Cell));
  }
  ::close(file_);
  throw std::runtime_error("paper: no address space for the device's memory");
}

Memory::~Memory() {
  ::munmap(reinterpret_cast<void*>(base_), space_);
  ::munmap(alias_, space_);
  if (shadow_ != nullptr) ::munmap(shadow_, space_ / 4 * sizeof(Cell));
  ::close(file_);
}

std::uint64_t Memory::allocate(std::size_t bytes, Owner owner) {
  if (bytes == 0 || bytes > capacity_ - used_) return 0;
  const std::uint64_t stride =
      (bytes + gap_bytes_min + allocation_align - 1) / allocation_align * allocation_align;
  if (next_ - base_ + stride > space_) return 0;
  const std::uint64_t address = next_;
  next_ += stride;
  used_ += bytes;
  live_.emplace_hint(live_.end(), address, Allocation{bytes, ++allocations_, owner});
  variables_ += owner == Owner::module;
  count_pages(address, bytes, 1);
  std::memset(alias(address), 0xFF, bytes);
  return address;
}

bool Memory::release(std::uint64_t address, Operation by) {
  const auto found = live_.find(address);
  if (found == live_.end()) {
    const auto freed = freed_.find(address);
    findings_.add(Kind::bad_call, {},
                  freed != freed_.end()
                      ? "free of allocation #" + std::to_string(freed->second.number) +
                            ", which has been freed before"
                      : "free of " + hexadecimal(address) +
                            ", where no allocation begins: " + distance(address));
    return false;
  }
  const Allocation gone = found->second;
  live_.erase(found);
  freed_.emplace(address, Freed{gone.bytes, gone.number, by});
  used_ -= gone.bytes;
  variables_ -= gone.owner == Owner::module;
  cached_begin_ = 1, cached_end_ = 0;
  count_pages(address, gone.bytes, -1);
  return true;
}

// Pages whose last allocation is gone, and where no other one will ever begin, are given back.
void Memory::count_pages(std::uint64_t address, std::size_t bytes, int change) {
  const std::uint64_t first = (address - base_) / page_bytes;
  const std::uint64_t last = (address - base_ + bytes - 1) / page_bytes;
  if (change > 0) {
    for (std::uint64_t page : {first, last}) ++pages_[page];
    return;
  }
  std::uint64_t begin = first, end = last + 1;
  const auto leave = [&](std::uint64_t page) {
    const auto entry = pages_.find(page);
    if (--entry->second > 0) return false;
    pages_.erase(entry);
    return page < (next_ - base_) / page_bytes;
  };
  const bool first_free = leave(first);
  const bool last_free = leave(last);
  if (first == last) {
    if (!last_free) return;
  } else {
    if (!first_free) ++begin;
    if (!last_free) --end;
  }
  if (begin >= end) return;
  const std::uint64_t offset = begin * page_bytes, count = (end - begin) * page_bytes;
  ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(count));
  if (shadow_ == nullptr) return;
  const std::uint64_t scale = sizeof(Cell) / 4;  // a page has whole pages of shadow
  ::madvise(reinterpret_cast<std::byte*>(shadow_) + offset * scale, count * scale, MADV_DONTNEED);
}

std::uint64_t Memory::allocation_of(std::uint64_t address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return 0;
  --after;
  return address - after->first < after->second.bytes ? after->first : 0;
}

std::size_t Memory::bytes_of(std::uint64_t allocation) const {
  const auto found = live_.find(allocation);
  return found == live_.end() ? 0 : found->second.bytes;
}

void Memory::report_leaks() {
  for (const auto& [address, allocation] : live_) {
    if (allocation.owner == Owner::module) continue;
    findings_.add(Kind::leak, {},
                  "allocation #" + std::to_string(allocation.number) + " of " +
                      std::to_string(allocation.bytes) + " bytes was never freed");
  }
}

bool Memory::inside(std::uint64_t address, std::size_t bytes) {
  const std::uint64_t begin = allocation_of(address);
  if (begin == 0) return false;
  cached_begin_ = begin;
  cached_end_ = begin + bytes_of(begin);
  return bytes <= cached_end_ - address;
}

bool Memory::touch(Touch touch, std::uint64_t address, std::size_t bytes, const Toucher& toucher) {
  const bool known = address >= cached_begin_ && address < cached_end_;
  if (!(known && bytes <= cached_end_ - address) && !inside(address, bytes)) {
    illegal(touch, address, bytes, toucher.witness->where(toucher.thread));
    return false;
  }
  if (!checks_) return true;
  if (bytes < 4) {
    check(touch, address, ((1U << bytes) - 1) << (address % 4), toucher, {});
    return true;
  }
  for (std::size_t at = 0; at < bytes; at += 4) check(touch, address + at, 0xF, toucher, {});
  return true;
}

bool Memory::touch_range(Touch touch, std::uint64_t address, std::size_t bytes, Operation operation,
                         std::string_view what) {
  if (bytes == 0) return true;
  if (!inside(address, bytes)) {
    const std::string far = distance(address);
    findings_.add(
        was_freed(far) ? Kind::use_after_free : Kind::out_of_bounds, {},
        std::string(what) + ": " + did(touch) + std::to_string(bytes) + " bytes at " + far);
    return false;
  }
  if (!checks_) return true;
  const Toucher toucher{operation, 0, 0, 0, nullptr};
  told_ = false;
  const std::uint64_t end = address + bytes;
  const std::uint64_t whole = (address + 3) / 4 * 4, rest = end / 4 * 4;
  if (whole > rest) {  // within one word
    check(touch, rest, 0xFU << (address - rest) & 0xFU >> (rest + 4 - end), toucher, what);
    return true;
  }
  if (address < whole) check(touch, whole - 4, 0xFU << (address + 4 - whole) & 0xF, toucher, what);
  check_words(touch, whole, rest, toucher, what);
  if (rest < end) check(touch, rest, 0xFU >> (rest + 4 - end), toucher, what);
  return true;
}

std::string Memory::place(std::uint64_t address) const {
  const std::uint64_t begin = allocation_of(address);
  if (begin == 0) return hexadecimal(address);
  const Allocation& allocation = live_.at(begin);
  return "byte " + std::to_string(address - begin) + " of allocation #" +
         std::to_string(allocation.number) + " (" + std::to_string(allocation.bytes) + " bytes)";
}

std::string Memory::distance(std::uint64_t address) const {
  if (allocation_of(address) != 0) return place(address);
  if (!holds(address)) {
    return hexadecimal(address) + ", which is no address of this device" +
           (address < page_bytes ? ": a null pointer with an offset" : ": a pointer of the host?");
  }
  auto freed = freed_.upper_bound(address);
  if (freed != freed_.begin()) {
    --freed;
    const Freed& gone = freed->second;
    if (address - freed->first < gone.bytes) {
      return "byte " + std::to_string(address - freed->first) + " of allocation #" +
             std::to_string(gone.number) + " (" + std::to_string(gone.bytes) + " bytes)" +
             freed_words;
    }
  }
  auto after = live_.upper_bound(address);
  std::string text = hexadecimal(address);
  const std::uint64_t far = ~std::uint64_t{0};
  const auto before = after == live_.begin() ? live_.end() : std::prev(after);
  const std::uint64_t past =
      before == live_.end() ? far : address - (before->first + before->second.bytes);
  const std::uint64_t ahead = after == live_.end() ? far : after->first - address;
  if (past == far && ahead == far) return text + ", where nothing is allocated";
  const Allocation& near = past <= ahead ? before->second : after->second;
  return text + ", " + std::to_string(std::min(past, ahead)) + " bytes " +
         (past <= ahead ? "past the end of" : "before") + " allocation #" +
         std::to_string(near.number) + " (" + std::to_string(near.bytes) + " bytes)";
}

void Memory::illegal(Touch touch, std::uint64_t address, std::size_t bytes, const Where& where) {
  const std::string far = distance(address);
  const bool freed = was_freed(far);
  findings_.add(freed ? Kind::use_after_free : Kind::out_of_bounds, where,
                did(touch) + std::to_string(bytes) + " bytes at " + far +
                    (freed ? "; a pointer outlives its memory" : "; a bound or an index is wrong"));
}

}  // namespace lockstep::paper
