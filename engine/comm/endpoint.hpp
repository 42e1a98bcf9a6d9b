// Where somebody listens: a host's name or address, and a port.
#pragma once

#include <string>

namespace lockstep::comm {

struct Endpoint {
  std::string host;  // as it is typed: "node-3", "10.0.0.7", "::1"
  int port = 0;
  bool operator==(const Endpoint&) const = default;
};

}  // namespace lockstep::comm
