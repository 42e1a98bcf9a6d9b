// Peers: the other ranks of a group, reachable by messages. Message-passing parts take Peers&, so
// a student's ring cannot call all_reduce.
//
// Semantics every backend shares
//   - send returns when the buffer may be reused; a program may not rely on buffering: on the
//     simulator send returns when the matching receive is posted (rendezvous).
//   - isend and irecv never block. A buffer belongs to the operation until wait() returns.
//   - messages between one pair with one tag arrive in order.
//   - an empty tensor sends no message and receives none.
//   - count and dtype of both sides must agree.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "engine/comm/rank_names.hpp"
#include "engine/comm/work.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::comm {

// Line of the student's or engine's code that called, for diagnoses.
using Where = std::source_location;

class Peers {
 public:
  virtual ~Peers() = default;
  int rank() const { return rank_; }  // in this group
  int size() const { return size_; }
  // The names of this group's ranks in errors.
  const RankNames& names() const { return names_; }
  std::string own_name() const { return names_.name(rank_); }
  // The name of the library that carries the messages.
  virtual std::string_view backend() const { return "messages"; }
  // True if the group carries tensors of this device without a copy to the host. Most groups read
  // and write the memory of tensors themselves, so the host must be able to.
  virtual bool carries(const Device& device) const { return device.numbers() != Numbers::away; }
  // Throws ContractError, in the name of `operation`, for a tensor that does not.
  void check_carried(std::string_view operation, const Tensor& data) const {
    if (!carries(data.device())) refuse_device(operation, data.device());
  }

  // data [n], any dtype. Throws CommError when the peer is lost or the deadline passes,
  // ContractError for a rank outside the group or for oneself, and for a tensor that the group does
  // not carry.
  void send(const Tensor& data, int dst, int tag = 0, Where where = Where::current());
  void recv(Tensor data, int src, int tag = 0, Where where = Where::current());
  Work isend(const Tensor& data, int dst, int tag = 0, Where where = Where::current());
  Work irecv(Tensor data, int src, int tag = 0, Where where = Where::current());

 protected:
  Peers(int rank, int size, RankNames names = {})
      : rank_(rank), size_(size), names_(std::move(names)) {}
  // Called with checked arguments and a non-empty tensor.
  virtual Work start_send(const Tensor& data, int dst, int tag, const Where& where) = 0;
  virtual Work start_recv(Tensor data, int src, int tag, const Where& where) = 0;
  // Blocking forms; a backend overrides them when it has something better than start + wait.
  virtual void send_now(const Tensor& data, int dst, int tag, const Where& where);
  virtual void recv_now(Tensor data, int src, int tag, const Where& where);

 private:
  void check(const char* operation, const Tensor& data, int peer, int tag,
             const Where& where) const {
    const bool fits = peer >= 0 && peer < size_ && peer != rank_ && tag >= 0 && data.defined();
    if (!fits) refuse(operation, peer, tag, where);
    check_carried(operation, data);
  }
  [[noreturn]] void refuse(const char* operation, int peer, int tag, const Where& where) const;
  [[noreturn]] void refuse_device(std::string_view operation, const Device& device) const;
  int rank_;
  int size_;
  RankNames names_;
};

}  // namespace lockstep::comm
