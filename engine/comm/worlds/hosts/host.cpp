#include "engine/comm/worlds/hosts/host.hpp"

#include <unistd.h>

#include <climits>
#include <fstream>

#include "engine/base/text.hpp"

namespace lockstep::comm {

namespace {

// Names the namespace by its number: "pid:[4026531836]".
std::string link_target(const char* path) {
  char target[PATH_MAX];
  const ssize_t length = readlink(path, target, sizeof target);
  return length < 0 ? "unknown" : std::string(target, static_cast<std::size_t>(length));
}

}  // namespace

std::string this_host() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  // Without /proc nothing tells hosts apart, so each process is its own.
  if (!std::getline(file, boot)) return text("process ", getpid());
  return text(boot, " ", link_target("/proc/self/ns/pid"), " ", link_target("/proc/self/ns/net"),
              " user ", geteuid());
}

}  // namespace lockstep::comm
