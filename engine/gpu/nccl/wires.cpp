// Communicators over NCCL. What orders what:
//
//   ask()      the communicator's stream waits for `after`, makes the calls, and records `done`
//   Moment     an event; the device's stream waits for it. Events are kept, since to make one takes
//              as long as to launch a kernel; what waits for one has noted what it stands for
//
// A group of calls is one operation: NCCL carries it out as a whole, in any order.
#include "engine/gpu/wires.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/gpu/cuda_check.hpp"
#include "engine/gpu/cuda_device.hpp"
#include "engine/gpu/nccl/check.hpp"

namespace lockstep::gpu {
namespace {

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return ncclFloat32;
    case DType::float64:
      return ncclFloat64;
    case DType::int64:
      return ncclInt64;
    case DType::int32:
      return ncclInt32;
    case DType::int8:
      return ncclInt8;
    case DType::uint8:
      return ncclUint8;
    case DType::bfloat16:
      return ncclBfloat16;
    case DType::float16:
      break;
  }
  return ncclFloat16;
}

// Averages come as sums of what was scaled.
ncclRedOp_t nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::product:
      return ncclProd;
    case ReduceOp::min:
      return ncclMin;
    case ReduceOp::max:
      return ncclMax;
    default:
      return ncclSum;
  }
}

// Events of one device that nobody uses just now.
class Events {
 public:
  explicit Events(const CudaDevice& device) : device_(device), number_(device.number()) {}
  ~Events() {
    for (const cudaEvent_t event : free_) cudaEventDestroy(event);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  cudaEvent_t take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        const cudaEvent_t event = free_.back();
        free_.pop_back();
        return event;
      }
    }
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    return event;
  }
  void give(cudaEvent_t event) noexcept {
    const std::scoped_lock lock(mutex_);
    free_.push_back(event);
  }
  const CudaDevice& device() const { return device_; }
  int number() const { return number_; }

 private:
  const CudaDevice& device_;
  const int number_;
  std::mutex mutex_;  // guards free_
  std::vector<cudaEvent_t> free_;
};

class EventMoment final : public Moment {
 public:
  EventMoment(std::shared_ptr<Events> events, cudaStream_t stream)
      : events_(std::move(events)), event_(events_->take()) {
    if (const auto error = cudaEventRecord(event_, stream); error != cudaSuccess) {
      events_->give(event_);
      throw_cuda(error, "cudaEventRecord");
    }
  }
  ~EventMoment() override { events_->give(event_); }

  void let_device_wait() override { let_wait(events_->device().stream()); }
  void let_wait(cudaStream_t stream) {
    events_->device().choose();
    check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  bool has_come() override {
    events_->device().choose();
    const cudaError_t answer = cudaEventQuery(event_);
    if (answer == cudaSuccess) return true;
    if (answer != cudaErrorNotReady) throw_cuda(answer, "cudaEventQuery");
    cudaGetLastError();  // "not yet" is no error of the next launch
    return false;
  }

 private:
  std::shared_ptr<Events> events_;
  cudaEvent_t event_;
};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::shared_ptr<Events> events, const WireId& id, int rank, int size)
      : events_(std::move(events)) {
    cudaSetDevice(number());
    ncclUniqueId unique;
    static_assert(sizeof unique == std::tuple_size_v<WireId>);
    std::memcpy(unique.internal, id.data(), id.size());
    check(ncclCommInitRank(&comm_, size, unique, rank), "ncclCommInitRank");
    const auto error = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    if (error == cudaSuccess) return;
    ncclCommAbort(comm_);
    throw_cuda(error, "cudaStreamCreate");
  }

  // An end is no place for errors: what has failed was told before.
  ~NcclCommunicator() override {
    cudaSetDevice(number());
    if (!aborted_) {
      cudaStreamSynchronize(stream_);
      ncclCommDestroy(comm_);
    }
    cudaStreamDestroy(stream_);
  }

  std::shared_ptr<Moment> ask(std::span<const WireCall> calls, Moment& after) override {
    dynamic_cast<EventMoment&>(after).let_wait(stream_);
    // Copies of one's own part are none of NCCL's calls, and may run beside them.
    for (const WireCall& call : calls) {
      if (call.verb == WireVerb::copy) copy(call);
    }
    check(ncclGroupStart(), "ncclGroupStart");
    ncclResult_t first = ncclSuccess;
    for (const WireCall& call : calls) {
      if (call.verb == WireVerb::copy) continue;
      if (const ncclResult_t result = submit(call); first == ncclSuccess) first = result;
    }
    const ncclResult_t ended = ncclGroupEnd();
    check(first == ncclSuccess ? ended : first, "a call", comm_);
    return std::make_shared<EventMoment>(events_, stream_);
  }

  std::string failure() override {
    if (aborted_) return {};
    cudaSetDevice(number());
    ncclResult_t found = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm_, &found);
    if (asked != ncclSuccess) found = asked;
    if (found == ncclSuccess || found == ncclInProgress) return {};
    const char* const more = ncclGetLastError(comm_);
    return text(ncclGetErrorString(found), more == nullptr || *more == 0 ? "" : ": ",
                more == nullptr ? "" : more);
  }

  void abort() noexcept override {
    if (aborted_.exchange(true)) return;
    cudaSetDevice(number());
    ncclCommAbort(comm_);
  }

 private:
  int number() const { return events_->number(); }

  void copy(const WireCall& call) const {
    check(cudaMemcpyAsync(call.to.address(), call.from.address(), call.to.bytes(),
                          cudaMemcpyDeviceToDevice, stream_),
          "cudaMemcpyAsync");
  }

  // Counts are those of the smaller tensor, as NCCL wants them.
  ncclResult_t submit(const WireCall& call) const {
    const Tensor& any = call.from.defined() ? call.from : call.to;
    const ncclDataType_t type = nccl_type(any.dtype());
    const void* const from = call.from.defined() ? call.from.address() : nullptr;
    void* const to = call.to.defined() ? call.to.address() : nullptr;
    const auto count = static_cast<std::size_t>(any.numel());
    switch (call.verb) {
      case WireVerb::all_reduce:
        return ncclAllReduce(from, to, count, type, nccl_op(call.op), comm_, stream_);
      case WireVerb::broadcast:
        return ncclBroadcast(from, to, count, type, call.peer, comm_, stream_);
      case WireVerb::reduce:
        return ncclReduce(from, to, count, type, nccl_op(call.op), call.peer, comm_, stream_);
      case WireVerb::all_gather:
        return ncclAllGather(from, to, count, type, comm_, stream_);
      case WireVerb::reduce_scatter:
        return ncclReduceScatter(from, to, static_cast<std::size_t>(call.to.numel()), type,
                                 nccl_op(call.op), comm_, stream_);
      case WireVerb::send:
        return ncclSend(from, count, type, call.peer, comm_, stream_);
      case WireVerb::recv:
        return ncclRecv(to, count, type, call.peer, comm_, stream_);
      case WireVerb::copy:
        break;
    }
    return ncclInvalidArgument;
  }

  std::shared_ptr<Events> events_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::atomic<bool> aborted_ = false;
};

class NcclWires final : public Wires {
 public:
  explicit NcclWires(CudaDevice& device)
      : device_(device), events_(std::make_shared<Events>(device)) {}
  ~NcclWires() override {
    for (const std::uint64_t number : checks_) device_.remove_check(number);
  }
  NcclWires(const NcclWires&) = delete;
  NcclWires& operator=(const NcclWires&) = delete;

  std::uint64_t place() override {
    std::uint64_t place = 0;
    for (const auto part : {cudaDevAttrPciDomainId, cudaDevAttrPciBusId, cudaDevAttrPciDeviceId}) {
      int value = 0;
      check(cudaDeviceGetAttribute(&value, part, device_.number()), "cudaDeviceGetAttribute");
      place = place << 16 | static_cast<std::uint64_t>(value);
    }
    return place;
  }
  WireId new_id() override {
    device_.choose();
    ncclUniqueId unique;
    check(ncclGetUniqueId(&unique), "ncclGetUniqueId");
    WireId id;
    std::memcpy(id.data(), unique.internal, id.size());
    return id;
  }
  std::unique_ptr<Communicator> join(const WireId& id, int rank, int size) override {
    return std::make_unique<NcclCommunicator>(events_, id, rank, size);
  }
  std::shared_ptr<Moment> now() override {
    device_.choose();
    return std::make_shared<EventMoment>(events_, device_.stream());
  }
  void when_settled(std::function<void()> check) override {
    checks_.push_back(device_.add_check(std::move(check)));
  }

 private:
  CudaDevice& device_;
  std::shared_ptr<Events> events_;
  std::vector<std::uint64_t> checks_;
};

}  // namespace
}  // namespace lockstep::gpu

// The symbol that open_wires() looks for. Returns nullptr if the device is another one.
extern "C" lockstep::gpu::Wires* lockstep_open_wires(lockstep::Device& device) {
  auto* const cuda = dynamic_cast<lockstep::gpu::CudaDevice*>(&device);
  return cuda == nullptr ? nullptr : new lockstep::gpu::NcclWires(*cuda);
}
