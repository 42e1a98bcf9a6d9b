// Pinned host memory, which copies read and write while the host goes on. Each allocation is mapped
// twice: once where the host sees it, and once for copies. While a copy has been asked for and the
// host has not waited for it, the host's pages are forbidden: to writing where the copy reads, to
// any access where it writes. So a host that does not wait is caught in the act, at its line, even
// if the copy has run by chance.
//
// Invariants
//   1. A range is held from when its copy is asked for until the host waits for it; that the copy
//      has run makes no difference.
//   2. Two copies that hold the same bytes, one of them writing, must be ordered: said once a pair.
//   3. An access beside a held range, on the same page, goes through. The page is open from then on
//      until the range is let go, so that a race on it may be missed.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/paper/findings.hpp"
#include "engine/paper/order/timeline.hpp"

namespace lockstep::paper {

enum class Use { read, write };

class PinnedMemory {
 public:
  PinnedMemory(StreamTimeline& timeline, Findings& findings)
      : timeline_(timeline), findings_(findings) {}
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  void* allocate(std::size_t bytes);  // nullptr where the machine has no more
  bool release(void* address);        // false: no allocation begins there

  // The address at which copies reach it, or nullptr: not pinned, or not so many bytes.
  std::byte* alias(const void* address, std::size_t bytes) const;
  bool contains(const void* address) const { return find(address) != nullptr; }
  std::optional<Operation> user_of(
      const void* address) const;  // one that the host did not wait for

  // An operation that has been asked for uses these bytes; lets go what the host has waited for.
  void hold(Operation operation, Use use, const void* address, std::size_t bytes);
  void let_go();

  // The host's access at `address` has failed. Nothing: not pinned memory. Otherwise it may go on,
  // and the sentence, where there is one, says which race it was; it begins with the verb.
  struct Touched {
    std::string sentence;
  };
  std::optional<Touched> touched_by_host(const void* address, Use use);

  struct Leak {
    std::size_t bytes;
    Operation after;  // the last operation when it was allocated
  };
  std::vector<Leak> leaks() const;

 private:
  struct Allocation {
    std::byte* host;
    std::byte* alias;
    std::size_t bytes, mapped_bytes;
    Operation after;
  };
  struct Held {
    Operation operation;
    Use use;
    std::byte* first;
    std::byte* end;
  };

  const Allocation* find(const void* address) const;
  void protect(const Held& held);

  StreamTimeline& timeline_;
  Findings& findings_;
  std::map<const std::byte*, Allocation> allocations_;  // by where they begin
  std::vector<Held> held_;
};

}  // namespace lockstep::paper
