#include "engine/comm/sub_peers.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::comm {

namespace {

int place_of(int rank, const std::vector<int>& members) {
  const auto at = std::find(members.begin(), members.end(), rank);
  LOCKSTEP_CHECK(at != members.end(), "rank ", rank, " is not among the ", members.size(),
                 " members; only members make the peers that they are");
  return static_cast<int>(at - members.begin());
}

}  // namespace

SubPeers::SubPeers(Peers& whole, std::vector<int> members, int first_tag)
    : Peers(place_of(whole.rank(), members), static_cast<int>(members.size()),
            whole.names().of(members)),
      whole_(whole),
      members_(std::move(members)),
      first_tag_(first_tag) {}

Work SubPeers::start_send(const Tensor& data, int dst, int tag, const Where& where) {
  return whole_.isend(data, at(dst), first_tag_ + tag, where);
}
Work SubPeers::start_recv(Tensor data, int src, int tag, const Where& where) {
  return whole_.irecv(std::move(data), at(src), first_tag_ + tag, where);
}
void SubPeers::send_now(const Tensor& data, int dst, int tag, const Where& where) {
  whole_.send(data, at(dst), first_tag_ + tag, where);
}
void SubPeers::recv_now(Tensor data, int src, int tag, const Where& where) {
  whole_.recv(std::move(data), at(src), first_tag_ + tag, where);
}

}  // namespace lockstep::comm
