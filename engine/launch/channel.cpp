#include "engine/launch/channel.hpp"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "engine/base/json_text.hpp"

namespace lockstep::launch {

namespace {

using nlohmann::json;

constexpr std::size_t message_bytes_max = 1 << 22;  // the failures of 4,096 ranks fit
constexpr double send_timeout_s = 5;

}  // namespace

Channel::Channel(comm::Descriptor connection) : connection_(std::move(connection)) {
  if (lost()) return;
  constexpr int on = 1, idle_s = 5, interval_s = 5, probes = 3;
  setsockopt(fd(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd(), IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

void Channel::send(const json& message) {
  // A rank's last lines may hold bytes of any kind.
  const std::string line = write_any_json(message) + "\n";
  std::string_view rest = line;
  const auto deadline = comm::deadline_after(send_timeout_s);
  while (!lost() && !rest.empty()) {
    const ssize_t sent = ::send(fd(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd entry{fd(), POLLOUT, 0};
      if (poll(&entry, 1, comm::poll_ms_until(deadline)) == 0) connection_.reset();
    } else if (errno != EINTR) {
      connection_.reset();
    }
  }
}

std::vector<json> Channel::receive() {
  std::vector<json> messages;
  char part[4096];
  while (!lost()) {
    const ssize_t got = recv(fd(), part, sizeof part, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      connection_.reset();
      break;
    }
    in_.append(part, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (auto end = in_.find('\n'); end != std::string::npos; end = in_.find('\n', begin)) {
      messages.push_back(read_json_or_discard(std::string_view(in_).substr(begin, end - begin)));
      begin = end + 1;
      if (messages.back().is_object()) continue;
      messages.pop_back();
      connection_.reset();
      return messages;
    }
    in_.erase(0, begin);
    if (in_.size() > message_bytes_max) connection_.reset();
  }
  return messages;
}

std::string Channel::peer_of(const comm::Descriptor& connection) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* peer = reinterpret_cast<sockaddr*>(&address);
  char host[NI_MAXHOST] = {};
  if (getpeername(connection.get(), peer, &size) != 0 ||
      getnameinfo(peer, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) {
    return "an unknown address";
  }
  return host;
}

}  // namespace lockstep::launch
