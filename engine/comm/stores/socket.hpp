// The little of TCP that the store needs: owned descriptors, listening, connecting before a
// deadline. Addresses are names or numbers, IPv4 or IPv6.
#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace lockstep::comm {

using Deadline = std::chrono::steady_clock::time_point;
// Any number of seconds: at most thirty years, and none of a negative number or NaN.
Deadline deadline_after(double seconds);
// Milliseconds that poll() may wait: 0 when the deadline has passed, rounded up otherwise, and at
// most what poll() takes, 24 days.
int poll_ms_until(Deadline deadline);

// Owns one descriptor; -1 is none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  int get() const { return fd_; }
  void reset();

 private:
  int fd_ = -1;
};

// A socket that listens; port 0 takes a free one. Throws CommError when the port is in use or the
// address is not this machine's.
Descriptor listen_on(const std::string& host, int port);
int port_of(const Descriptor& listener);

// Tries again until somebody listens there or the deadline passes (CommError).
Descriptor connect_to(const std::string& host, int port, Deadline deadline);

}  // namespace lockstep::comm
