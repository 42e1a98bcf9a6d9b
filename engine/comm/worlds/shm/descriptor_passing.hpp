// How the segment's file comes to the ranks of a host: from the lowest rank to each other one, over
// a Unix socket (SCM_RIGHTS) whose abstract name is random and stands in the store. Nobody of
// another user gets it.
#pragma once

#include <string>

#include "engine/comm/stores/socket.hpp"

namespace lockstep::comm::shm {

class DescriptorSender {
 public:
  DescriptorSender();
  const std::string& name() const { return name_; }
  // Hands `file` to `ranks` peers. Throws CommError saying how many did not come in time.
  void give(const Descriptor& file, int ranks, Deadline deadline);

 private:
  std::string name_;
  Descriptor listener_;
};

// Throws CommError when nobody gives the file before the deadline.
Descriptor take_file(const std::string& name, Deadline deadline);

}  // namespace lockstep::comm::shm
