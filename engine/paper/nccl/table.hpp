// The memory that the ranks of one communicator share: a file in memory, mapped by every process.
// It has a seat for each rank, a mailbox for each ordered pair, and behind them room for what is
// sent.
//
// The id of a communicator says where the file is: the process that made it and the number of its
// descriptor. Others open it through /proc, so no name lies anywhere, and it is gone with the last
// process that has it.
//
// Invariants
//   1. Everything in the table is read and written under its lock. The lock is robust: a process
//      that dies with it leaves counters that have not been moved on yet, and its seat tells that
//      it is dead.
//   2. Counters only grow. What a counter announces is complete when the counter has its number.
//   3. The first failure stays: all ranks say the same sentence.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep::paper {

constexpr int ranks_max = 64;  // of a communicator on paper

// The contents of ncclUniqueId.
struct MeetingPlace {
  std::array<char, 16> magic{};
  std::uint64_t token[2]{};
  std::int32_t process = 0, descriptor = -1;
};

// The fields of a collective call on which all ranks must agree.
struct Call {
  std::uint64_t number = 0;  // 1 is the communicator's first collective; 0 is none
  std::int32_t kind = 0, type = 0, op = 0, root = 0;
  std::uint64_t count = 0;
};

struct Message {
  std::uint64_t count = 0;
  std::int32_t type = 0;
};

enum class SeatState : std::int32_t { empty, taken, left, aborted, failed };

struct Split {
  std::uint64_t number = 0;  // how many splits this rank has asked for
  std::uint64_t read = 0;    // of how many it has read what the others say
  std::uint64_t made = 0;    // of how many it, the first of its group, has made the new table
  std::int32_t color = 0, key = 0;
  MeetingPlace place;
};

struct Seat {
  SeatState state{};
  pid_t process = 0;
  std::uint64_t started = 0;  // when the process began, as a number is given again
  std::int32_t device = 0;
  std::uint64_t asked = 0;      // collectives that the host asked for
  std::uint64_t done = 0;       // collectives that are complete here
  std::uint64_t to_come = 0;    // parts of its running operation that it has not come to
  std::array<Call, 2> calls{};  // by number % 2: a rank is at most one call ahead
  Split split;
};

struct Mailbox {
  std::uint64_t sent = 0, wanted = 0, taken = 0;
  Message offered, awaited;
};

enum class Trouble : std::int32_t { none, disagreement, hang, remote };

struct SharedTable {
  MeetingPlace place;
  pthread_mutex_t mutex;
  std::int32_t ranks = 0;  // as the first rank said
  Trouble trouble{};
  std::array<char, 640> sentence{};
  std::array<Seat, ranks_max> seats{};
  std::array<std::array<Mailbox, ranks_max>, ranks_max> mail{};  // [from][to]
};

// One process's hold of a table.
class Shared {
 public:
  Shared() = default;
  ~Shared();
  Shared(Shared&& other) noexcept;
  Shared& operator=(Shared&& other) noexcept;

  static Shared make();                           // empty where the machine has no more
  static Shared open(const MeetingPlace& place);  // empty where there is none any more

  explicit operator bool() const { return table_ != nullptr; }
  SharedTable& table() const { return *table_; }
  const MeetingPlace& place() const { return table_->place; }

  // The data that a rank gives to a collective call, and the data in flight between two ranks.
  bool put_call(int rank, std::uint64_t number, const std::byte* from, std::size_t bytes) const;
  bool get_call(int rank, std::uint64_t number, std::byte* into, std::size_t bytes,
                std::size_t skipped) const;
  bool put_mail(int from, int to, const std::byte* what, std::size_t bytes) const;
  bool take_mail(int from, int to, std::byte* into, std::size_t bytes) const;

 private:
  int file_ = -1;
  SharedTable* table_ = nullptr;
};

// Holds the table's lock.
class Locked {
 public:
  explicit Locked(SharedTable& table);
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  SharedTable& table_;
};

// The first failure of the communicator. Needs the lock.
void tell(SharedTable& table, Trouble trouble, const std::string& sentence);

// When the process began, in ticks of the kernel; 0 where there is none, or it has ended.
std::uint64_t start_of(pid_t process);

}  // namespace lockstep::paper
