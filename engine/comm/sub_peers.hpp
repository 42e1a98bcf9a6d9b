// Some ranks of a group as peers of their own: messages go through the group, under its ranks. To
// make one, nothing is sent and nobody needs to agree, unlike ProcessGroup::split.
#pragma once

#include <vector>

#include "engine/comm/peers.hpp"

namespace lockstep::comm {

class SubPeers final : public Peers {
 public:
  // members  ranks of `whole` in the order of their new numbers, the same on each of them
  // first_tag  is added to every tag, so that these messages are never taken for the group's own
  //   Requires  this rank is a member; `whole` outlives it
  SubPeers(Peers& whole, std::vector<int> members, int first_tag = 0);

  std::string_view backend() const override { return whole_.backend(); }
  bool carries(const Device& device) const override { return whole_.carries(device); }

 protected:
  Work start_send(const Tensor& data, int dst, int tag, const Where& where) override;
  Work start_recv(Tensor data, int src, int tag, const Where& where) override;
  void send_now(const Tensor& data, int dst, int tag, const Where& where) override;
  void recv_now(Tensor data, int src, int tag, const Where& where) override;

 private:
  int at(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  Peers& whole_;
  std::vector<int> members_;
  int first_tag_;
};

}  // namespace lockstep::comm
