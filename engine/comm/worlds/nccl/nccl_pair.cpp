#include "engine/comm/worlds/nccl/nccl_pair.hpp"

#include <cstring>
#include <utility>

namespace lockstep::comm {
namespace {

// Words of a fixed size as a tensor of the host's.
template <typename T>
Tensor words_of(const T& value, CpuDevice& host) {
  const Tensor words = empty({static_cast<std::int64_t>(sizeof value)}, DType::uint8, host);
  std::memcpy(words.raw_bytes().data(), &value, sizeof value);
  return words;
}

template <typename T>
T value_of(const Tensor& words) {
  T value;
  std::memcpy(&value, words.raw_bytes().data(), sizeof value);
  return value;
}

const MessageCall& call_of(const Flight& flight) {
  return std::get<Flight::Message>(flight.what()).call;
}

}  // namespace

NcclPair::~NcclPair() { drain(); }

void NcclPair::drain() {
  launcher_.drain();
  checker_.drain();
}

void NcclPair::start(std::shared_ptr<Flight> flight, const Tensor& data) {
  static_cast<void>(launcher_.start([this, flight = std::move(flight), data, number = ++started_] {
    carry(flight, data, number);
  }));
}

void NcclPair::carry(const std::shared_ptr<Flight>& flight, const Tensor& data,
                     std::uint64_t number) {
  try {
    core_.refuse_if_failed([&] { return flight->doing(); });
    const MessageCall& call = call_of(*flight);
    const CallFingerprint mine = fingerprint_of(call, number);
    if (communicator_ == nullptr) meet(call.where);
    Work said = core_.words().isend(words_of(mine, host_), other(), tag_of_mine(), call.where);
    gpu::WireCall message{.verb = sends() ? gpu::WireVerb::send : gpu::WireVerb::recv,
                          .from = sends() ? data : Tensor(),
                          .to = sends() ? Tensor() : data,
                          .peer = sends() ? 1 : 0};
    core_.launch(*communicator_, flight, {&message, 1});
    auto kept = std::make_shared<Work>(std::move(said));
    static_cast<void>(checker_.start([this, flight, mine, kept] {
      compare(flight, mine);
      if (!core_.has_failed()) kept->wait();
    }));
  } catch (const Error& error) {
    flight->failed(core_.failed(flight->doing(), reason_in(error.what())));
  }
}

void NcclPair::compare(const std::shared_ptr<Flight>& flight, const CallFingerprint& mine) {
  try {
    core_.refuse_if_failed([&] { return flight->doing(); });
    const Tensor words = empty({static_cast<std::int64_t>(sizeof mine)}, DType::uint8, host_);
    core_.words().recv(words, other(), 1 - tag_of_mine(), call_of(*flight).where);
    const CallFingerprint theirs = value_of<CallFingerprint>(words);
    const std::string wrong = sends() ? mismatch(mine, theirs, src_, dst_, core_.names())
                                      : mismatch(theirs, mine, src_, dst_, core_.names());
    if (!wrong.empty()) throw Error(wrong);
    flight->checked();
  } catch (const Error& error) {
    flight->failed(core_.failed(flight->doing(), reason_in(error.what())));
  }
}

// The receiver answers, so that no end waits inside of NCCL, where no deadline ends it, for one
// that never comes.
void NcclPair::meet(const Where& where) {
  gpu::WireId id{};
  const Tensor words = words_of(id, host_);
  if (sends()) {
    id = core_.wires().new_id();
    core_.words().send(words_of(id, host_), dst_, tag_of_mine(), where);
    core_.words().recv(words, dst_, 1 - tag_of_mine(), where);
  } else {
    core_.words().recv(words, src_, 1 - tag_of_mine(), where);
    id = value_of<gpu::WireId>(words);
    core_.words().send(words, src_, tag_of_mine(), where);
  }
  communicator_ = core_.join(id, sends() ? 0 : 1, 2, other());
}

}  // namespace lockstep::comm
