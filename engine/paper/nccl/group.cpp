// From calls to operations of streams.
#include "engine/paper/nccl/group.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/paper/nccl/values.hpp"

namespace lockstep::paper {
namespace {

struct GroupedCall {
  ncclComm* comm;
  cudaStream_t stream;
  CommCall part;
};

struct Group {
  int depth = 0;
  std::vector<ncclComm*> arriving;
  std::vector<GroupedCall> calls;
  ncclResult_t result = ncclSuccess;  // the first that failed
};

Group& group() {
  thread_local Group only;  // NCCL's groups are a thread's
  return only;
}

struct Extent {
  const char* name;
  std::uint64_t address;
  std::size_t bytes;
};

// The buffers of the call on this rank.
std::vector<Extent> extents(const ncclComm& comm, const CommCall& part) {
  const std::size_t bytes = part.count * bytes_of(part.type);
  const std::size_t all = bytes * static_cast<std::size_t>(comm.ranks);
  std::vector<Extent> used;
  const bool at_root = part.root == comm.rank;
  const bool reads =
      part.kind != CommCallKind::recv && (part.kind != CommCallKind::broadcast || at_root);
  const bool writes =
      part.kind != CommCallKind::send && (part.kind != CommCallKind::reduce || at_root);
  if (reads) {
    used.push_back(
        {"sendbuff", part.from, part.kind == CommCallKind::reduce_scatter ? all : bytes});
  }
  if (writes) {
    used.push_back({"recvbuff", part.to, part.kind == CommCallKind::all_gather ? all : bytes});
  }
  return used;
}

// In place, a rank's own block lies where it belongs in the whole; else the two must not meet.
bool overlaps(const ncclComm& comm, const CommCall& part) {
  const auto used = extents(comm, part);
  if (used.size() < 2) return false;
  const Extent &from = used[0], &to = used[1];
  const std::size_t own = static_cast<std::size_t>(comm.rank) * part.count * bytes_of(part.type);
  const bool in_place = part.kind == CommCallKind::all_gather ? from.address == to.address + own
                        : part.kind == CommCallKind::reduce_scatter
                            ? to.address == from.address + own
                            : to.address == from.address;
  return !in_place && from.address < to.address + to.bytes &&
         to.address < from.address + from.bytes;
}

std::string objection_to(const ncclComm& comm, const CommCall& part) {
  if (bytes_of(part.type) == 0) {
    return "the type is " + std::to_string(static_cast<int>(part.type)) + ", which is none";
  }
  if (part.root < 0 || part.root >= comm.ranks) {
    return (is_collective(part) ? "the root" : "the peer") + std::string(" is ") +
           std::to_string(part.root) + ", but the communicator has " + std::to_string(comm.ranks) +
           " ranks";
  }
  const auto op = static_cast<std::size_t>(part.op);
  if (part.op < 0 || op >= ncclNumOps + comm.factors.size() ||
      (op >= ncclNumOps && comm.factors[op - ncclNumOps].destroyed)) {
    return "the operator is " + std::to_string(part.op) + ", which is none of this communicator";
  }
  if (op >= ncclNumOps && comm.factors[op - ncclNumOps].type != part.type) {
    return std::string("the operator was made for ") + name_of(comm.factors[op - ncclNumOps].type) +
           ", and the values are " + name_of(part.type);
  }
  const bool reduces = part.kind == CommCallKind::all_reduce || part.kind == CommCallKind::reduce ||
                       part.kind == CommCallKind::reduce_scatter;
  if (reduces && !can_reduce(part.type)) {
    return std::string("paper has no sums of ") + name_of(part.type) +
           ", which NCCL has from sm_90 on";
  }
  for (const Extent& extent : extents(comm, part)) {
    if (extent.bytes == 0) continue;
    if (extent.address == 0) return std::string(extent.name) + " is null";
    cudaPointerAttributes attributes;
    const void* const pointer = reinterpret_cast<const void*>(extent.address);
    if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) continue;
    if (attributes.type != cudaMemoryTypeDevice) {
      return std::string(extent.name) + " is memory of the host; NCCL on paper takes the device's";
    }
    if (attributes.device != comm.device) {
      return std::string(extent.name) + " is memory of device " +
             std::to_string(attributes.device) + ", and the communicator is of device " +
             std::to_string(comm.device);
    }
  }
  if (overlaps(comm, part)) {
    return "sendbuff and recvbuff overlap in another way than NCCL's in-place calls";
  }
  return "";
}

// Puts calls of one communicator into the stream, as one operation.
ncclResult_t enqueue(ncclComm& comm, cudaStream_t stream, std::vector<CommCall> parts) {
  if (const ncclResult_t error = async_error(comm); error != ncclSuccess) return error;
  for (CommCall& part : parts) {
    if (is_collective(part)) part.number = ++comm.collectives;
  }
  {
    const Locked lock(comm.shared.table());
    comm.shared.table().seats[static_cast<std::size_t>(comm.rank)].asked = comm.collectives;
  }
  std::string name = parts.front().function;
  if (parts.size() > 1) name += " and " + std::to_string(parts.size() - 1) + " more of its group";
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return ncclUnhandledCudaError;
  if (device != comm.device && cudaSetDevice(comm.device) != cudaSuccess) {
    return ncclUnhandledCudaError;
  }
  const Submitted submitted =
      paperSubmitSteps(stream, name.c_str(), operation_of(comm, std::move(parts)).release());
  if (device != comm.device && cudaSetDevice(device) != cudaSuccess) return ncclUnhandledCudaError;
  return submitted == Submitted::fine         ? ncclSuccess
         : submitted == Submitted::bad_stream ? ncclInvalidArgument
                                              : ncclUnhandledCudaError;
}

// All calls of the group to one communicator, in one operation.
ncclResult_t enqueue_next(std::vector<GroupedCall>& calls) {
  ncclComm* const comm = calls.front().comm;
  const cudaStream_t stream = calls.front().stream;
  std::vector<CommCall> parts;
  for (const GroupedCall& call : calls) {
    if (call.comm != comm) continue;
    if (call.stream != stream) {
      calls.clear();
      return refuse(call.part.function,
                    "the group uses two streams for one communicator, which paper does not know");
    }
    parts.push_back(call.part);
  }
  std::erase_if(calls, [&](const GroupedCall& call) { return call.comm == comm; });
  return enqueue(*comm, stream, std::move(parts));
}

// Which arguments a call has that can be wrong.
const char* arguments_of(CommCallKind kind) {
  switch (kind) {
    case CommCallKind::all_reduce:
    case CommCallKind::reduce_scatter:
      return "count type operator";
    case CommCallKind::reduce:
      return "count type operator root";
    case CommCallKind::all_gather:
      return "count type";
    default:
      return "count type root";
  }
}

// Edits the call as a mistake in the program would. Types become narrower, so that nothing is
// overrun.
void edit(CommCall& part, std::string_view argument, int ranks) {
  if (argument == "count" && part.count > 0) --part.count;
  if (argument == "operator") part.op = part.op == ncclSum ? ncclMax : ncclSum;
  if (argument == "root") part.root = (part.root + 1) % ranks;
  if (argument != "type") return;
  switch (part.type) {
    case ncclFloat64:
      part.type = ncclFloat32;
      break;
    case ncclInt64:
      part.type = ncclInt32;
      break;
    case ncclFloat32:
      part.type = ncclFloat16;
      break;
    default:
      part.type = part.type == ncclInt8 ? ncclUint8 : ncclInt8;
  }
}

}  // namespace

bool arrive_at_group_end(ncclComm* comm) {
  if (group().depth == 0) return false;
  group().arriving.push_back(comm);
  return true;
}

ncclResult_t submit(const char* function, ncclComm_t comm, cudaStream_t stream, CommCall part) {
  part.function = function;
  if (const std::string_view argument = paperEditOf(function, arguments_of(part.kind));
      !argument.empty()) {
    edit(part, argument, comm->ranks);
  }
  ncclResult_t result = ncclSuccess;
  if (checked(comm, function) == nullptr) {
    result = ncclInvalidArgument;
  } else if (comm->finalized) {
    result = refuse(function, "the communicator has been finalized", ncclInvalidUsage);
  } else if (const std::string why = objection_to(*comm, part); !why.empty()) {
    result = refuse(function, why);
  }
  if (result != ncclSuccess) {
    if (group().depth > 0 && group().result == ncclSuccess) group().result = result;
    return result;
  }
  if (part.op >= ncclNumOps) {
    part.factor = comm->factors[static_cast<std::size_t>(part.op - ncclNumOps)];
  }
  if (group().depth == 0) return enqueue(*comm, stream, {part});
  group().calls.push_back({comm, stream, part});
  return ncclSuccess;
}

}  // namespace lockstep::paper

using namespace lockstep::paper;

extern "C" {

ncclResult_t ncclGroupStart() {
  ++group().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group().depth == 0) {
    return refuse("ncclGroupEnd", "there was no ncclGroupStart", ncclInvalidUsage);
  }
  if (--group().depth > 0) return ncclSuccess;
  Group ended = std::exchange(group(), {});
  ncclResult_t result = ended.result;
  for (ncclComm* const comm : ended.arriving) {
    const ncclResult_t arrived = arrive(*comm);
    if (result == ncclSuccess) result = arrived;
  }
  while (result == ncclSuccess && !ended.calls.empty()) result = enqueue_next(ended.calls);
  return result;
}

}  // extern "C"
