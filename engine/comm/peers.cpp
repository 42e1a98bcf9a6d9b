// The checks that every backend shares: they are made once, here, and the backend is called with
// good arguments only. An empty tensor ends here: it sends no message and receives none.
#include "engine/comm/peers.hpp"

#include <string>

#include "engine/base/units.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::comm {

namespace {

std::string place_of(const Where& where) {
  return sim::place_of(where.file_name(), static_cast<int>(where.line()));
}

}  // namespace

void Peers::refuse(const char* operation, int peer, int tag, const Where& where) const {
  if (peer < 0 || peer >= size_) {
    throw ContractError(text(operation, ": rank ", peer, " is not in this group of ",
                             counted(size_, "rank"), " (0 to ", size_ - 1, "), asked by ",
                             own_name(), " at ", place_of(where),
                             "; a ring wraps round, to (rank + 1) % size and ",
                             "(rank + size - 1) % size; a tree leaves out who is not there"));
  }
  if (peer == rank_) {
    throw ContractError(text(operation, ": ", own_name(), " names itself as the peer at ",
                             place_of(where), "; a rank exchanges messages with others only"));
  }
  if (tag < 0) {
    throw ContractError(text(operation, ": tag ", tag, " is negative, asked by ", own_name(),
                             " at ", place_of(where), "; tags count from 0"));
  }
  throw ContractError(text(operation, ": ", own_name(), " passes an undefined tensor at ",
                           place_of(where), "; make one with empty() or zeros() first"));
}

void Peers::refuse_device(std::string_view operation, const Device& device) const {
  const std::string_view carried = device.numbers() == Numbers::away
                                       ? "tensors that the host can read"
                                       : "tensors of other devices";
  throw ContractError(text(operation, ": ", own_name(), "'s tensor is on the device '",
                           device.name(), "', and this group (", backend(), ") carries ", carried,
                           "; make the group with make_group_by_device, or bring the tensor with ",
                           device.numbers() == Numbers::away ? "to_host" : "to_device"));
}

void Peers::send(const Tensor& data, int dst, int tag, Where where) {
  check("send", data, dst, tag, where);
  if (data.numel() > 0) send_now(data, dst, tag, where);
}

void Peers::recv(Tensor data, int src, int tag, Where where) {
  check("recv", data, src, tag, where);
  if (data.numel() > 0) recv_now(std::move(data), src, tag, where);
}

Work Peers::isend(const Tensor& data, int dst, int tag, Where where) {
  check("isend", data, dst, tag, where);
  return data.numel() > 0 ? start_send(data, dst, tag, where) : Work();
}

Work Peers::irecv(Tensor data, int src, int tag, Where where) {
  check("irecv", data, src, tag, where);
  return data.numel() > 0 ? start_recv(std::move(data), src, tag, where) : Work();
}

void Peers::send_now(const Tensor& data, int dst, int tag, const Where& where) {
  start_send(data, dst, tag, where).wait();
}

void Peers::recv_now(Tensor data, int src, int tag, const Where& where) {
  start_recv(std::move(data), src, tag, where).wait();
}

}  // namespace lockstep::comm
