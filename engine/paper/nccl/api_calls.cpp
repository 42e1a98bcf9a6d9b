// NCCL's functions that communicate. What is not here is an error of the linker.
#include "engine/paper/nccl/group.hpp"
#include "engine/paper/nccl/values.hpp"

using namespace lockstep::paper;

namespace {

CommCall part_of(CommCallKind kind, const void* from, void* to, std::size_t count,
                 ncclDataType_t type) {
  CommCall part;
  part.kind = kind;
  part.from = reinterpret_cast<std::uint64_t>(from);
  part.to = reinterpret_cast<std::uint64_t>(to);
  part.count = count;
  part.type = type;
  return part;
}

}  // namespace

extern "C" {

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  CommCall part = part_of(CommCallKind::all_reduce, from, to, count, type);
  part.op = op;
  return submit("ncclAllReduce", comm, stream, part);
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  CommCall part = part_of(CommCallKind::reduce, from, to, count, type);
  part.op = op;
  part.root = root;
  return submit("ncclReduce", comm, stream, part);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  CommCall part = part_of(CommCallKind::reduce_scatter, from, to, count, type);
  part.op = op;
  return submit("ncclReduceScatter", comm, stream, part);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  CommCall part = part_of(CommCallKind::broadcast, from, to, count, type);
  part.root = root;
  return submit("ncclBroadcast", comm, stream, part);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return submit("ncclAllGather", comm, stream,
                part_of(CommCallKind::all_gather, from, to, count, type));
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  CommCall part = part_of(CommCallKind::send, from, nullptr, count, type);
  part.root = peer;
  return submit("ncclSend", comm, stream, part);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  CommCall part = part_of(CommCallKind::recv, nullptr, to, count, type);
  part.root = peer;
  return submit("ncclRecv", comm, stream, part);
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  constexpr const char* function = "ncclRedOpCreatePreMulSum";
  if (checked(comm, function) == nullptr) return ncclInvalidArgument;
  if (op == nullptr || scalar == nullptr || bytes_of(type) == 0 || !can_reduce(type)) {
    return refuse(function, "the operator, its scalar or its type is none");
  }
  ScaleFactor factor;
  factor.type = type;
  if (residence == ncclScalarHostImmediate) {
    factor.value = value_at(static_cast<const std::byte*>(scalar), type);
  } else {
    factor.address = reinterpret_cast<std::uint64_t>(scalar);
  }
  *op = static_cast<ncclRedOp_t>(ncclNumOps + comm->factors.size());
  comm->factors.push_back(factor);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  constexpr const char* function = "ncclRedOpDestroy";
  if (checked(comm, function) == nullptr) return ncclInvalidArgument;
  const auto place = static_cast<std::size_t>(op - ncclNumOps);
  if (op < ncclNumOps || place >= comm->factors.size() || comm->factors[place].destroyed) {
    return refuse(function, "the operator is none of this communicator");
  }
  comm->factors[place].destroyed = true;
  return ncclSuccess;
}

}  // extern "C"
