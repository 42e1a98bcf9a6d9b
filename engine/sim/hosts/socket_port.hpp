// The player's side of the socket: a Port whose strands pass a baton, and the strands themselves.
// Internal to engine/sim. Each blocked strand has one open request; when all are blocked, whoever
// holds the baton reads the next reply. A request from a thread that is no strand ends the process
// with the report of it, so that the finding does not depend on which of the two threads is faster.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "engine/sim/hosts/frame.hpp"
#include "engine/sim/hosts/port_strands.hpp"
#include "engine/strand/baton.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::sim {

class SocketPort final : public StrandPort, public Strands {
 public:
  explicit SocketPort(int socket);

  using Port::call;
  Reply call(const Request& request) override;
  std::unique_ptr<Strand> start(std::string name, std::function<void()> body) override;
  std::unique_ptr<Monitor> make_monitor() override;
  int current_strand() const override;
  void wake(int strand) override;

  // Blocks for the next case; nullopt when the host has closed the line.
  std::optional<IncomingFrame> next_case();
  void send_result(Bytes result);
  void send_gave_up(const std::string& why, const Bytes& result);
  void send_threw(const std::string& what);
  // calls: those that led to the throw
  void send_failure(Failure kind, const std::string& text,
                    std::span<const std::uint64_t> calls = {});
  // Names of strands that have not ended.
  std::string unfinished() const;

 private:
  class BatonStrand;
  void send(FrameKind kind, int strand, Bytes body);
  void send(const std::function<OutgoingFrame(std::uint32_t)>& frame);
  void check_thread(const char* doing, const std::string& place);
  void fetch_reply();  // what the baton does when all are blocked

  int socket_;
  std::mutex sending_;  // guards sequence_ and what is written to the socket
  std::uint32_t sequence_ = 0;
  FrameReader reader_;
  std::map<int, Reply> replies_;      // fetched, not yet taken by their strands
  std::map<int, std::string> names_;  // of live strands
  Baton baton_;
};

}  // namespace lockstep::sim
