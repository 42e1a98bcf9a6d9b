#include "engine/comm/endpoint.hpp"

#include <charconv>

#include "engine/base/text.hpp"

namespace lockstep::comm {

std::string text_of(const Endpoint& endpoint) { return text(endpoint.host, ":", endpoint.port); }

std::optional<Endpoint> endpoint_of(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  Endpoint endpoint{text.substr(0, colon), 0};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, endpoint.port);
  if (error != std::errc() || stop != end || endpoint.port < 0 || endpoint.port > 65535) {
    return std::nullopt;
  }
  return endpoint;
}

}  // namespace lockstep::comm
