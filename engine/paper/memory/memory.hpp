// A device's memory, and a shadow beside it that knows who wrote and read each byte last.
//
// The memory is a file in memory, mapped twice: addresses that the host sees cannot be touched (a
// host that tries gets SIGSEGV), alias() is the mapping that works. The shadow has a cell for each
// four bytes. It keeps the last writer and the last readers only, so a race can be missed, but none
// is made up: two accesses conflict where they meet in a byte, one of them writes, they are not
// both atomic, and nothing orders them. The lanes of one warp are taken as ordered.
//
// Invariants: 1. an address is never given out twice, so use after free is always seen; 2. behind
// each allocation is a gap of at least 256 bytes; 3. pages that hold no live byte are given back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/paper/findings.hpp"

namespace lockstep::paper {

using Operation = std::uint32_t;  // in the order in which the host asked for them; 0 is none

// The order of operations: streams, events, waits of the host.
class Ordering {
 public:
  virtual ~Ordering() = default;
  virtual bool before(Operation earlier, Operation later) const = 0;
  virtual std::string describe(Operation operation) const = 0;  // "softmax_rows (#3 of stream 1)"
};

// Tells where a thread of the running block stands; asked only when there is a finding.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual Where where(std::uint32_t thread) const = 0;
};

enum class Touch { read, write, atomic };

struct Toucher {
  Operation operation = 0;
  std::uint32_t block = 0;   // number in the grid
  std::uint32_t thread = 0;  // number in the block
  std::uint32_t epoch = 0;   // barriers that the block has passed
  const Witness* witness = nullptr;
};

// One side (writes, or reads) of four bytes.
struct Trace {
  Operation operation = 0;
  std::uint32_t block = 0;
  std::uint32_t thread : 10 = 0, epoch : 13 = 0;
  std::uint32_t bytes : 4 = 0;  // which of the four
  std::uint32_t atomic : 1 = 0;
  std::uint32_t many_warps : 1 = 0,
                             many_blocks : 1 = 0;  // of reads: others of this operation read too
  std::uint32_t spare : 2 = 0;
};
struct Cell {
  Trace write, read;
  std::uint32_t initialised = 0;  // a bit a byte
};

enum class Access { fine, illegal, misaligned };

class Memory {
 public:
  //   bytes   what may be allocated at one time
  //   checks  off: bounds only, no shadow
  enum class Checks { off, on };
  Memory(std::size_t bytes, const Ordering& ordering, Findings& findings,
         Checks checks = Checks::on);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Returns 0 where memory is spent. The address is a multiple of 512; the content counts as
  // uninitialised and is 0xFF. Zero bytes: 0.
  enum class Owner { caller, module };  // a module's variables are no leak, and not counted as live
  std::uint64_t allocate(std::size_t bytes, Owner owner = Owner::caller);
  // Returns false, with a finding, where no live allocation begins at `address`.
  bool release(std::uint64_t address, Operation by);

  // The host's address of a device address, whether it is allocated or not.
  std::byte* alias(std::uint64_t address) const { return alias_ + (address - base_); }
  bool holds(std::uint64_t address) const {
    return address - base_ < space_;
  }  // an address of ours
  // Is the address inside a live allocation? Its begin, or 0.
  std::uint64_t allocation_of(std::uint64_t address) const;
  std::size_t bytes_of(std::uint64_t allocation) const;
  std::size_t used() const { return used_; }
  std::size_t capacity() const { return capacity_; }
  std::size_t live() const { return live_.size() - variables_; }
  // Every allocation that nobody released is a finding of kind leak.
  void report_leaks();

  // One access of a lane: `bytes` is 1, 2, 4, 8 or 16, and the address a multiple of it.
  // Returns false (finding added) where it must not be carried out.
  bool touch(Touch touch, std::uint64_t address, std::size_t bytes, const Toucher& toucher);
  // The same where nothing is new or wrong, which is nearly always: true, and noted. Else false,
  // and touch() decides. (Defined in quick.hpp.)
  template <Touch touch>
  bool touch_quickly(std::uint64_t address, std::size_t bytes, const Toucher& toucher);
  // A whole range by a copy or a library's product, named `what`; same rule.
  bool touch_range(Touch touch, std::uint64_t address, std::size_t bytes, Operation operation,
                   std::string_view what);

 private:
  struct Allocation {
    std::size_t bytes = 0;
    std::uint64_t number = 0;
    Owner owner = Owner::caller;
  };
  struct Freed {
    std::size_t bytes = 0;
    std::uint64_t number = 0;
    Operation by = 0;
  };
  bool inside(std::uint64_t address, std::size_t bytes);
  void illegal(Touch touch, std::uint64_t address, std::size_t bytes, const Where& where);
  std::string distance(
      std::uint64_t address) const;  // "4 bytes past the end of allocation #3 (...)"
  void check(Touch touch, std::uint64_t address, std::uint32_t bytes, const Toucher& toucher,
             std::string_view what);
  // The same of many whole words, as a copy touches them; what is in order is quick.
  void check_words(Touch touch, std::uint64_t begin, std::uint64_t end, const Toucher& toucher,
                   std::string_view what);
  void note_read(Trace& read, std::uint32_t bytes, const Toucher& toucher);
  void conflict(Touch touch, const Trace& other, std::string_view other_did, std::uint64_t address,
                const Toucher& toucher, std::string_view what);
  void report(Kind kind, const Toucher& toucher, std::string sentence);
  bool ordered(Operation earlier, Operation later);
  template <Touch touch>
  bool check_quickly(Cell& cell, std::uint32_t bytes, const Toucher& toucher);
  bool known_before(Operation earlier, Operation later) const {
    const Known& known = known_[earlier % known_.size()];
    return known.earlier == earlier && known.later == later && known.ordered;
  }
  void count_pages(std::uint64_t address, std::size_t bytes, int change);
  std::string place(std::uint64_t address) const;  // "byte 8 of allocation #3 (400 bytes)"
  Cell* cell(std::uint64_t address) const { return shadow_ + (address - base_) / 4; }

  const Ordering& ordering_;
  Findings& findings_;
  const std::size_t capacity_;
  std::size_t used_ = 0, space_ = 0, variables_ = 0;
  std::uint64_t base_ = 0, next_ = 0, allocations_ = 0;
  std::byte* alias_ = nullptr;
  Cell* shadow_ = nullptr;
  int file_ = -1;
  bool checks_ = true;
  bool told_ = false;  // of the range that is being touched: one finding is enough
  std::map<std::uint64_t, Allocation> live_;
  std::map<std::uint64_t, Freed> freed_;
  std::unordered_map<std::uint64_t, std::uint32_t> pages_;  // live allocations on each page
  std::uint64_t cached_begin_ = 1, cached_end_ = 0;         // of the allocation last touched
  struct Known {
    Operation earlier = 0, later = 0;
    bool ordered = false;
  };
  std::array<Known, 64> known_{};  // answers of ordering_, by the earlier operation
};

}  // namespace lockstep::paper
