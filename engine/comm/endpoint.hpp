// An address at which somebody listens: a host's name or address, and a port.
#pragma once

#include <optional>
#include <string>

namespace lockstep::comm {

struct Endpoint {
  std::string host;  // as it is typed: "node-3", "10.0.0.7", "::1"
  int port = 0;
  bool operator==(const Endpoint&) const = default;
};

// "host:port". A host may hold colons; the port stands behind the last one.
std::string text_of(const Endpoint& endpoint);
// The inverse; nothing when the text is no such thing, or the port is not between 0 and 65535.
std::optional<Endpoint> endpoint_of(const std::string& text);

}  // namespace lockstep::comm
