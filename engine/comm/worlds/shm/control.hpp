// The control block of one group: what its ranks tell each other without a message. One writer a
// field: a rank writes its own line, its own records and its own mailboxes, all others read them.
//
// Order of memory
//   1. A rank writes its record, its slot or a peer's tensor first, and then moves its `phase`
//      (release); whoever sees the phase (acquire) sees what was written before.
//   2. A record and an inline slot are used by every second call. A rank writes them for call n + 2
//      only after it has seen all ranks in call n + 1, who have all done with call n by then.
//   3. Who wants to sleep announces it and looks again; who moves a phase looks for sleepers
//      afterwards (both sequentially consistent), so that one of the two sees the other.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "engine/comm/worlds/shm/segment.hpp"

namespace lockstep::comm::shm {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "processes share atomics only where these need no lock");

// Two lines of cache: processors fetch them in pairs.
constexpr std::size_t line_bytes = 128;

// The place of a rank's data while a call runs.
enum class Placement : std::uint8_t {
  none,     // the rank brings or wants nothing
  inlined,  // whole in its inline slot
  direct,   // in an arena: peers read or write the tensor itself
  staged    // in memory of its own: piece by piece through its slots
};

// A rank's call (collective.hpp's Outline, flat), and the placement of its tensors.
struct alignas(line_bytes) SharedCallRecord {
  std::uint64_t number;  // of the call in its group, from 1
  std::int64_t count;
  std::uint64_t input, output;  // offsets, where direct
  std::int32_t root, line;
  std::uint8_t kind, op, dtype;
  std::uint8_t unequal;  // its counts stand behind the records
  Placement input_placement, output_placement;
  char file[82];  // the end of the path, where it is longer
};
static_assert(sizeof(SharedCallRecord) == line_bytes);

// `phase` counts what a rank has published; its two lowest bits say how a rank is gone.
constexpr std::uint64_t phase_step = 4, has_left = 1, has_failed = 2;
// Published before the first call: "my pid and my slots are there", then "I watch all of you", so
// that no rank leaves, or gives up, while a peer still looks for it.
constexpr std::uint64_t phases_to_meet = 2;

struct alignas(line_bytes) RankLine {
  std::atomic<std::uint64_t> phase;
  std::atomic<std::uint32_t> sleepers;  // peers that sleep until the phase moves
  // Messages for this rank: moved by who sends.
  alignas(64) std::atomic<std::uint32_t> bell;
  std::atomic<std::uint32_t> bell_sleepers;
  // For peers to read when this rank is late.
  alignas(line_bytes) std::atomic<std::uint64_t> finished;  // number of the last call it finished
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint64_t> slots;  // its block of slots; written before the first phase
  // The message it waits for, as text in words; odd while it changes, 0 when there is none.
  std::atomic<std::uint32_t> doing_version;
  std::atomic<std::uint64_t> doing[26];
};

// The first failure of a group, for all.
struct alignas(line_bytes) Failure {
  std::atomic<std::int32_t> rank_after;  // 1 + the rank that failed; 0: none has
  std::atomic<std::uint32_t> told;       // the cause is there
  char cause[1016];
};

// The first message that `src` ever sent to `dst`; each message holds the next one's offset.
using Mailbox = std::atomic<std::uint64_t>;

struct alignas(line_bytes) Head {
  std::atomic<std::uint32_t> released;  // set when all ranks have left: the block may go back
  std::atomic<std::uint32_t> left;      // how many ranks have left
  Failure failure;
};

// A control block in this process's mapping.
class Control {
 public:
  Control(const Segment& segment, std::uint64_t offset, int size)
      : base_(segment.at(offset)), size_(static_cast<std::size_t>(size)) {}

  static std::uint64_t bytes_for(int size) {
    const auto n = static_cast<std::uint64_t>(size);
    return round_up(sizeof(Head) + n * sizeof(RankLine) + 2 * n * sizeof(SharedCallRecord) +
                        4 * n * n * sizeof(std::int64_t) + n * n * sizeof(Mailbox),
                    page_bytes);
  }

  Head& head() const { return at<Head>(0, 0); }
  RankLine& line(int rank) const { return at<RankLine>(lines_at(), index(rank)); }
  SharedCallRecord& record(int rank, std::uint64_t number) const {
    return at<SharedCallRecord>(records_at(), 2 * index(rank) + number % 2);
  }
  // The counts of a call with unequal parts [2 · size]: what the rank brings, or all bring; for an
  // all_to_all, they are followed by what it wants.
  std::int64_t* counts(int rank, std::uint64_t number) const {
    return &at<std::int64_t>(counts_at(), (2 * index(rank) + number % 2) * 2 * size_);
  }
  Mailbox& mailbox(int src, int dst) const {
    return at<Mailbox>(mailboxes_at(), index(src) * size_ + index(dst));
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  std::size_t lines_at() const { return sizeof(Head); }
  std::size_t records_at() const { return lines_at() + size_ * sizeof(RankLine); }
  std::size_t counts_at() const { return records_at() + 2 * size_ * sizeof(SharedCallRecord); }
  std::size_t mailboxes_at() const {
    return counts_at() + 4 * size_ * size_ * sizeof(std::int64_t);
  }
  template <typename T>
  T& at(std::size_t offset, std::size_t index) const {
    return reinterpret_cast<T*>(base_ + offset)[index];
  }

  std::byte* base_;
  std::size_t size_;
};

// A rank's slots, one block of its arena for each of its groups.
//   [ SlotHead ][ inline slot of even calls ][ of odd calls ][ slot 0 ][ slot 1 ][ slot 2 ]
struct alignas(line_bytes) SlotHead {
  std::atomic<std::uint32_t> released;  // set when all ranks have left
};
constexpr std::uint64_t inline_bytes = 32 << 10;
// Small enough that the slots of a few ranks stay in cache, large enough that ranks without a core
// of their own do not change places all the time.
constexpr std::uint64_t slot_bytes = 512 << 10;
constexpr std::uint64_t slots = 3;
constexpr std::uint64_t slot_block_bytes = page_bytes + 2 * inline_bytes + slots * slot_bytes;

constexpr std::uint64_t inline_slot_at(std::uint64_t block, std::uint64_t number) {
  return block + page_bytes + number % 2 * inline_bytes;
}
constexpr std::uint64_t slot_at(std::uint64_t block, std::uint64_t piece) {
  return block + page_bytes + 2 * inline_bytes + piece % slots * slot_bytes;
}

}  // namespace lockstep::comm::shm
