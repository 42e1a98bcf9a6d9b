// Meeting, splitting and leaving.
#include "engine/paper/nccl/comm.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/paper/order/library.hpp"

namespace lockstep::paper {
namespace {

struct Library {
  std::mutex mutex;  // guards all of it
  std::map<ncclComm_t, std::unique_ptr<ncclComm>> known;
  std::list<Shared> places;
  std::string last_error, told;
};

Library& library() {
  static Library& only = *new Library();  // operations may outlive the destructors of the program
  return only;
}

// Before the end of cudart, which prints what was found.
__attribute__((destructor)) void find_leaks() {
  const auto& known = library().known;
  const bool failed = std::ranges::any_of(known, [](const auto& entry) {
    return entry.second->shared.table().trouble != Trouble::none;
  });
  if (failed) return;  // then nothing can be ended as it should
  for (const auto& [handle, comm] : known) {
    if (comm->destroyed) continue;
    paperFinding(Kind::leak, ("a communicator was never destroyed: rank " +
                              std::to_string(comm->rank) + " of " + std::to_string(comm->ranks))
                                 .c_str());
  }
}

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

// "ranks 1 and 3": those without a seat.
std::string missing(const SharedTable& table, int ranks) {
  std::vector<int> absent;
  for (int rank = 0; rank < ranks; ++rank) {
    if (table.seats[static_cast<std::size_t>(rank)].state == SeatState::empty)
      absent.push_back(rank);
  }
  std::string text = absent.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < absent.size(); ++i) {
    if (i > 0) text += i + 1 == absent.size() ? " and " : ", ";
    text += std::to_string(absent[i]);
  }
  return text;
}

// Why this rank may not sit down, or nothing.
std::string objection(const SharedTable& table, int ranks, int rank, int device) {
  if (table.ranks != 0 && table.ranks != ranks) {
    return rank_text(rank) + " says that the communicator has " + std::to_string(ranks) +
           " ranks, another said " + std::to_string(table.ranks);
  }
  const Seat& own = table.seats[static_cast<std::size_t>(rank)];
  if (own.state != SeatState::empty) {
    return rank_text(rank) + " is there twice: processes " + std::to_string(own.process) + " and " +
           std::to_string(getpid()) + "; give each its own rank, and each communicator its own id";
  }
  for (int other = 0; other < ranks; ++other) {
    const Seat& seat = table.seats[static_cast<std::size_t>(other)];
    if (seat.state == SeatState::empty || seat.device != device) continue;
    return "ranks " + std::to_string(std::min(rank, other)) + " and " +
           std::to_string(std::max(rank, other)) + " both use device " + std::to_string(device) +
           ", and NCCL wants a GPU for each rank; call cudaSetDevice before it, and see "
           "PAPER_DEVICES";
  }
  return "";
}

}  // namespace

Clockwork::time_point deadline_from_now() {
  constexpr double most_s = 1e9;  // what is added to the clock must fit into it
  return Clockwork::now() + std::chrono::duration_cast<Clockwork::duration>(
                                std::chrono::duration<double>(std::min(paperDeadline(), most_s)));
}

std::string seconds_text() {
  std::string text = std::to_string(std::round(paperDeadline() * 10) / 10);
  text.resize(text.find('.') + 2);
  return text + " s";
}

void remember_error(const std::string& sentence) {
  const std::scoped_lock lock(library().mutex);
  library().last_error = sentence;
}

const std::string& last_error() {
  const std::scoped_lock lock(library().mutex);
  return library().told = library().last_error;
}

ncclResult_t refuse(const char* function, const std::string& sentence, ncclResult_t result) {
  const std::string whole = std::string(function) + ": " + sentence;
  paperBadCall(whole.c_str());
  remember_error(whole);
  return result;
}

void keep_place(Shared shared) {
  const std::scoped_lock lock(library().mutex);
  library().places.push_back(std::move(shared));
}

void forget_place(const MeetingPlace& place) {
  const std::scoped_lock lock(library().mutex);
  library().places.remove_if([&](const Shared& kept) {
    return std::memcmp(kept.place().token, place.token, sizeof place.token) == 0;
  });
}

ncclComm* keep(std::unique_ptr<ncclComm> comm) {
  const std::scoped_lock lock(library().mutex);
  ncclComm* const handle = comm.get();
  library().known[handle] = std::move(comm);
  return handle;
}

ncclComm* checked(ncclComm_t handle, const char* function) {
  std::string sentence = "the communicator is null";
  {
    const std::scoped_lock lock(library().mutex);
    const auto found = library().known.find(handle);
    if (found != library().known.end() && !found->second->destroyed) return handle;
    if (found != library().known.end())
      sentence = "the communicator has been destroyed";
    else if (handle != nullptr)
      sentence = "the communicator was not made by NCCL";
  }
  refuse(function, sentence);
  return nullptr;
}

Arrival take_seat(const MeetingPlace& place, int ranks, int rank) {
  constexpr const char* function = "ncclCommInitRank";
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    return {refuse(function,
                   "there is no rank " + std::to_string(rank) + " of " + std::to_string(ranks)),
            nullptr};
  }
  if (ranks > ranks_max) {
    return {refuse(function,
                   "paper knows communicators of at most " + std::to_string(ranks_max) + " ranks"),
            nullptr};
  }
  auto comm = std::make_unique<ncclComm>();
  // Freeing nothing makes the device ready, if there is one.
  if (cudaGetDevice(&comm->device) != cudaSuccess || cudaFree(nullptr) != cudaSuccess) {
    return {ncclUnhandledCudaError, nullptr};
  }
  comm->shared = Shared::open(place);
  if (!comm->shared) {
    return {refuse(function,
                   "nobody is at the id: it is not one of ncclGetUniqueId, or was used before, or "
                   "the process that made it has ended"),
            nullptr};
  }
  comm->rank = rank, comm->ranks = ranks;
  SharedTable& table = comm->shared.table();
  const Locked lock(table);
  if (const std::string why = objection(table, ranks, rank, comm->device); !why.empty()) {
    tell(table, Trouble::disagreement, why);
    return {refuse(function, why, ncclInvalidUsage), nullptr};
  }
  table.ranks = ranks;
  Seat& seat = table.seats[static_cast<std::size_t>(rank)];
  seat.process = getpid();
  seat.started = start_of(seat.process);
  seat.device = comm->device;
  seat.state = SeatState::taken;
  return {ncclSuccess, std::move(comm)};
}

ncclResult_t arrive(ncclComm& comm) {
  constexpr const char* function = "ncclCommInitRank";
  SharedTable& table = comm.shared.table();
  const auto deadline = deadline_from_now();
  for (;; nap()) {
    const Locked lock(table);
    const auto seated = std::ranges::count_if(
        table.seats, [](const Seat& seat) { return seat.state != SeatState::empty; });
    if (seated == comm.ranks) break;
    look_for_the_dead(table, comm.ranks);
    if (table.trouble == Trouble::none && Clockwork::now() > deadline) {
      tell(table, Trouble::hang,
           "after " + seconds_text() + ", " + missing(table, comm.ranks) + " of " +
               std::to_string(comm.ranks) + " had not come; every rank must call it");
    }
    if (table.trouble == Trouble::none) continue;
    const ncclResult_t result =
        table.trouble == Trouble::disagreement ? ncclInvalidUsage : ncclRemoteError;
    return refuse(function, table.sentence.data(), result);
  }
  forget_place(comm.shared.place());
  return ncclSuccess;
}

Arrival split(ncclComm& parent, int color, int key) {
  constexpr const char* function = "ncclCommSplit";
  SharedTable& table = parent.shared.table();
  const std::uint64_t number = ++parent.splits;
  const auto deadline = deadline_from_now();
  const auto seats = [&] {
    return std::span(table.seats).first(static_cast<std::size_t>(parent.ranks));
  };
  Split& own = table.seats[static_cast<std::size_t>(parent.rank)].split;
  const auto wait = [&](auto come) {
    for (;; nap()) {
      const Locked lock(table);
      if (std::ranges::all_of(seats(), come)) return ncclSuccess;
      look_for_the_dead(table, parent.ranks);
      if (table.trouble == Trouble::none && Clockwork::now() > deadline) {
        std::string late;
        for (int rank = 0; rank < parent.ranks; ++rank) {
          if (!come(seats()[static_cast<std::size_t>(rank)])) late = rank_text(rank);
        }
        tell(table, Trouble::hang,
             late + " has not come to split " + std::to_string(number) + " in " + seconds_text() +
                 "; every rank of the communicator must call it, those without a group with "
                 "NCCL_SPLIT_NOCOLOR");
      }
      if (table.trouble != Trouble::none)
        return refuse(function, table.sentence.data(), ncclRemoteError);
    }
  };

  // Nobody says anything new before all have read what was said.
  ncclResult_t result = wait([&](const Seat& seat) { return seat.split.read + 1 >= number; });
  if (result != ncclSuccess) return {result, nullptr};
  {
    const Locked lock(table);
    own.color = color, own.key = key, own.number = number;
  }
  result = wait([&](const Seat& seat) { return seat.split.number >= number; });
  if (result != ncclSuccess) return {result, nullptr};

  std::vector<int> group;  // in the new order
  for (int rank = 0; rank < parent.ranks; ++rank) {
    if (seats()[static_cast<std::size_t>(rank)].split.color == color) group.push_back(rank);
  }
  std::ranges::stable_sort(
      group, {}, [&](int rank) { return seats()[static_cast<std::size_t>(rank)].split.key; });
  const bool joins = color != NCCL_SPLIT_NOCOLOR;
  const int first = joins ? group.front() : parent.rank;
  if (joins && first == parent.rank) {
    Shared made = Shared::make();
    if (!made) return {ncclSystemError, nullptr};
    const Locked lock(table);
    own.place = made.place();
    own.made = number;
    keep_place(std::move(made));
  }
  const Seat& maker = seats()[static_cast<std::size_t>(first)];
  if (joins) {
    result = wait([&](const Seat& seat) { return &seat != &maker || seat.split.made >= number; });
    if (result != ncclSuccess) return {result, nullptr};
  }
  MeetingPlace place;
  {
    const Locked lock(table);
    place = maker.split.place;
    own.read = number;
  }
  if (!joins) return {ncclSuccess, nullptr};
  const auto rank = std::ranges::find(group, parent.rank) - group.begin();
  Arrival arrival = take_seat(place, static_cast<int>(group.size()), static_cast<int>(rank));
  if (arrival.result == ncclSuccess) arrival.result = arrive(*arrival.comm);
  return arrival;
}

void drain(ncclComm& comm) {
  comm.hurried = true;
  const auto deadline = deadline_from_now() + std::chrono::seconds(1);
  while (comm.left > 0 && Clockwork::now() < deadline) nap();
  comm.hurried = false;
}

void leave(ncclComm& comm, SeatState how) {
  SharedTable& table = comm.shared.table();
  const Locked lock(table);
  table.seats[static_cast<std::size_t>(comm.rank)].state = how;
}

void look_for_the_dead(SharedTable& table, int ranks) {
  if (table.trouble != Trouble::none) return;
  for (int rank = 0; rank < ranks; ++rank) {
    const Seat& seat = table.seats[static_cast<std::size_t>(rank)];
    const std::string who = rank_text(rank) + " (process " + std::to_string(seat.process) + ")";
    if (seat.state == SeatState::taken && start_of(seat.process) != seat.started) {
      tell(table, Trouble::remote, who + " has ended without ncclCommDestroy");
    } else if (seat.state == SeatState::aborted) {
      tell(table, Trouble::remote, who + " has called ncclCommAbort");
    } else if (seat.state == SeatState::failed) {
      tell(table, Trouble::remote, who + " goes no further: its device has failed");
    }
  }
}

ncclResult_t async_error(ncclComm& comm) {
  SharedTable& table = comm.shared.table();
  const Locked lock(table);
  look_for_the_dead(table, comm.ranks);
  if (table.trouble == Trouble::none) return ncclSuccess;
  remember_error(table.sentence.data());
  return table.trouble == Trouble::disagreement ? ncclInvalidUsage : ncclRemoteError;
}

}  // namespace lockstep::paper
