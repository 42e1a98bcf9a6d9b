// NCCL's functions that make communicators and end them. Communicators are always blocking: a
// config that asks for another way gets one that is complete when the call returns, which NCCL
// allows.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/paper/nccl/comm.hpp"
#include "engine/paper/nccl/group.hpp"

using namespace lockstep::paper;

namespace {

static_assert(sizeof(MeetingPlace) <= NCCL_UNIQUE_ID_BYTES);

constexpr unsigned config_magic = 0xcafebeef;

ncclResult_t check_config(const char* function, const ncclConfig_t* config) {
  if (config == nullptr || config->magic == config_magic) return ncclSuccess;
  return refuse(function, "the config was not begun with NCCL_CONFIG_INITIALIZER");
}

ncclResult_t init_rank(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank) {
  MeetingPlace place;
  std::memcpy(&place, id.internal, sizeof place);
  Arrival arrival = take_seat(place, ranks, rank);
  if (arrival.result != ncclSuccess) return arrival.result;
  ncclComm* const seated = keep(std::move(arrival.comm));
  *comm = seated;
  if (arrive_at_group_end(seated)) return ncclSuccess;
  const ncclResult_t result = arrive(*seated);
  if (result == ncclSuccess) return result;
  leave(*seated, SeatState::left);
  seated->destroyed = true;
  *comm = nullptr;
  return result;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t) { return last_error().c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return refuse("ncclGetUniqueId", "the id is null");
  Shared made = Shared::make();
  if (!made) return ncclSystemError;
  *id = {};
  std::memcpy(id->internal, &made.place(), sizeof(MeetingPlace));
  keep_place(std::move(made));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return init_rank(comm, ranks, id, rank);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  const ncclResult_t fits = check_config("ncclCommInitRankConfig", config);
  return fits == ncclSuccess ? init_rank(comm, ranks, id, rank) : fits;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t* comm,
                           ncclConfig_t* config) {
  constexpr const char* function = "ncclCommSplit";
  *comm = nullptr;
  if (checked(parent, function) == nullptr) return ncclInvalidArgument;
  if (const ncclResult_t fits = check_config(function, config); fits != ncclSuccess) return fits;
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) {
    return refuse(function, "the color is " + std::to_string(color) +
                                "; colors begin with 0, and NCCL_SPLIT_NOCOLOR is none");
  }
  Arrival arrival = split(*parent, color, key);
  if (arrival.result == ncclSuccess && arrival.comm != nullptr) {
    *comm = keep(std::move(arrival.comm));
  }
  return arrival.result;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  if (checked(comm, "ncclCommCount") == nullptr) return ncclInvalidArgument;
  *count = comm->ranks;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  if (checked(comm, "ncclCommUserRank") == nullptr) return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  if (checked(comm, "ncclCommCuDevice") == nullptr) return ncclInvalidArgument;
  *device = comm->device;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (checked(comm, "ncclCommGetAsyncError") == nullptr) return ncclInvalidArgument;
  comm->watched = true;
  *error = async_error(*comm);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  constexpr const char* function = "ncclCommFinalize";
  if (checked(comm, function) == nullptr) return ncclInvalidArgument;
  if (comm->finalized) {
    return refuse(function, "the communicator has been finalized before", ncclInvalidUsage);
  }
  drain(*comm);
  comm->finalized = true;
  leave(*comm, SeatState::left);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (checked(comm, "ncclCommDestroy") == nullptr) return ncclInvalidArgument;
  if (!comm->finalized) {
    drain(*comm);
    leave(*comm, SeatState::left);
  }
  comm->destroyed = true;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (checked(comm, "ncclCommAbort") == nullptr) return ncclInvalidArgument;
  comm->aborted = true;
  leave(*comm, SeatState::aborted);
  drain(*comm);
  comm->destroyed = true;
  return ncclSuccess;
}

}  // extern "C"
