#include "engine/comm/worlds/shm/descriptor_passing.hpp"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/base/error.hpp"

namespace lockstep::comm::shm {

namespace {

struct Address {
  sockaddr_un address{};
  socklen_t size = 0;
};

// An abstract name begins with a zero byte and is in no file system.
Address address_of(const std::string& name) {
  Address made;
  made.address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof made.address.sun_path) throw CommError("no such socket: " + name);
  std::memcpy(made.address.sun_path + 1, name.data(), name.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return made;
}

std::string random_name() {
  unsigned char bits[16];
  if (getrandom(bits, sizeof bits, 0) != sizeof bits) throw CommError("no random numbers");
  std::string name = "lockstep-";
  for (const unsigned char byte : bits) {
    for (const int digit : {byte >> 4, byte & 15}) name += "0123456789abcdef"[digit];
  }
  return name;
}

bool is_ours(const Descriptor& connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

// One byte that carries a descriptor.
struct Envelope {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  Envelope() {
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
};

void send_file(const Descriptor& connection, const Descriptor& file) {
  Envelope envelope;
  cmsghdr* const head = CMSG_FIRSTHDR(&envelope.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = file.get();
  std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  // A peer that is gone is found missing when all are counted.
  sendmsg(connection.get(), &envelope.message, MSG_NOSIGNAL);
}

Descriptor receive_file(const Descriptor& connection) {
  Envelope envelope;
  if (recvmsg(connection.get(), &envelope.message, MSG_CMSG_CLOEXEC) != 1) return {};
  const cmsghdr* const head = CMSG_FIRSTHDR(&envelope.message);
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return Descriptor(fd);
}

bool readable(const Descriptor& descriptor, Deadline deadline) {
  pollfd entry{descriptor.get(), POLLIN, 0};
  while (true) {
    const int ready = poll(&entry, 1, poll_ms_until(deadline));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

Descriptor unix_socket() {
  Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.get() < 0) throw CommError(text("no Unix socket (", std::strerror(errno), ")"));
  return made;
}

}  // namespace

DescriptorSender::DescriptorSender() : name_(random_name()), listener_(unix_socket()) {
  const Address at = address_of(name_);
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at.address), at.size) != 0 ||
      listen(listener_.get(), 1024) != 0) {
    throw CommError(text("cannot listen on a Unix socket (", std::strerror(errno), ")"));
  }
}

void DescriptorSender::give(const Descriptor& file, int ranks, Deadline deadline) {
  for (int given = 0; given < ranks;) {
    if (!readable(listener_, deadline)) {
      throw CommError(text("shared memory: ", ranks - given, " of ", ranks,
                           " ranks of this host did not ask for it in time"));
    }
    const Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() < 0 && errno != ECONNABORTED && errno != EINTR) {
      throw CommError(text("shared memory: this rank cannot hand it over (", std::strerror(errno),
                           "); ", ranks - given, " of ", ranks, " ranks of this host wait for it"));
    }
    if (connection.get() < 0 || !is_ours(connection)) continue;
    send_file(connection, file);
    ++given;
  }
}

Descriptor take_file(const std::string& name, Deadline deadline) {
  const Descriptor connection = unix_socket();
  const Address at = address_of(name);
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&at.address), at.size) == 0 &&
      is_ours(connection) && readable(connection, deadline)) {
    Descriptor file = receive_file(connection);
    if (file.get() >= 0) return file;
  }
  throw CommError(
      "shared memory: the first rank of this host, which makes it, did not hand it over; it has "
      "probably ended, look at its output");
}

}  // namespace lockstep::comm::shm
