// A connection between two launchers: JSON values, one a line. Whoever sends something else, or too
// much, loses the connection.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/comm/stores/socket.hpp"

namespace lockstep::launch {

class Channel {
 public:
  // A machine that is gone without a word is noticed within 20 s.
  explicit Channel(comm::Descriptor connection);

  // Waits until the kernel has taken it, at most 5 s; after that the channel is lost.
  void send(const nlohmann::json& message);
  // Returns what has come, without waiting; call it when fd() is readable.
  std::vector<nlohmann::json> receive();
  bool lost() const { return connection_.get() < 0; }
  int fd() const { return connection_.get(); }
  std::string peer() const { return peer_of(connection_); }  // its address, for sentences

 private:
  static std::string peer_of(const comm::Descriptor& connection);
  comm::Descriptor connection_;
  std::string in_;  // not yet a whole line
};

}  // namespace lockstep::launch
