// A communicator, as one rank has it.
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/paper/nccl/table.hpp"

namespace lockstep::paper {

// ncclRedOpCreatePreMulSum: what each rank multiplies its values by.
struct ScaleFactor {
  ncclDataType_t type = ncclFloat32;
  double value = 0;
  std::uint64_t address = 0;  // on the device, or 0: the value counts
  bool destroyed = false;
};

}  // namespace lockstep::paper

struct ncclComm {
  lockstep::paper::Shared shared;
  int rank = 0, ranks = 0, device = 0;
  std::uint64_t splits = 0;
  std::vector<lockstep::paper::ScaleFactor> factors;  // ncclNumOps is the first
  std::atomic<int> left{0};                           // operations that are not complete
  std::uint64_t collectives = 0;                      // that were asked for
  std::uint64_t operations = 0;                       // that were asked for, of any kind
  std::atomic<std::uint64_t> finished{0};             // they finish in the order of asking
  std::atomic<bool> aborted{false};
  std::atomic<bool> watched{false};  // somebody has asked for asynchronous errors
  std::atomic<bool> hurried{false};  // somebody waits for all operations to finish
  bool finalized = false;
  bool destroyed = false;
  std::string last_error;
};

namespace lockstep::paper {

using Clockwork = std::chrono::steady_clock;
Clockwork::time_point deadline_from_now();
std::string seconds_text();  // "2 s": how long a rank waits for the others

// Asks for a seat and goes on; arrive() then waits until all seats are taken.
struct Arrival {
  ncclResult_t result = ncclSuccess;
  std::unique_ptr<ncclComm> comm;
};
Arrival take_seat(const MeetingPlace& place, int ranks, int rank);
ncclResult_t arrive(ncclComm& comm);

// Collective over the parent: ranks with the same color meet in a new communicator.
Arrival split(ncclComm& parent, int color, int key);

// Waits until no operation is left, or one can never come to its end.
void drain(ncclComm& comm);
void leave(ncclComm& comm, SeatState how);

// Makes known that a peer has died, aborted or failed. Needs the table's lock.
void look_for_the_dead(SharedTable& table, int ranks);
ncclResult_t async_error(ncclComm& comm);

// Handles, which stay known after they are destroyed. `nullptr` with a finding: no such handle.
ncclComm* keep(std::unique_ptr<ncclComm> comm);
ncclComm* checked(ncclComm_t handle, const char* function);

// A call that NCCL's rules forbid: a finding, and what ncclGetLastError then says.
ncclResult_t refuse(const char* function, const std::string& sentence,
                    ncclResult_t result = ncclInvalidArgument);
const std::string& last_error();
void remember_error(const std::string& sentence);

// Keeps a table that ncclGetUniqueId has made, until rank 0 of this process is in, or for as long
// as the process runs.
void keep_place(Shared shared);
void forget_place(const MeetingPlace& place);

}  // namespace lockstep::paper
