// Messages go to all servers before any answer is waited for, and all answers are asked for before
// the first is waited for.
#include "engine/parallel/async_sgd/server_links.hpp"

#include <cmath>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::async_sgd {
namespace {

constexpr int server = 0;  // in the group of a pair

// As the server's: a worker that fails ends what its servers wait for.
struct WorkersReach : comm::ProcessGroup {
  static void give_up(comm::ProcessGroup& group, const std::string& why) { give_up_in(group, why); }
};

}  // namespace

struct ServerLinks::End {
  End(Link given, Device& host) : link(std::move(given)), messages(host) {}
  Link link;
  MessageBuffers messages;
  comm::Work first{}, second{};
};

ServerLinks::ServerLinks(std::string who, std::vector<Link> links, Clip clip, Device& host)
    : who_(std::move(who)), clip_(clip) {
  for (Link& link : links) ends_.push_back(std::make_shared<End>(std::move(link), host));
}

// Does it with each server; a failure names the server.
template <typename Body>
void ServerLinks::each(const Body& body) {
  LOCKSTEP_CHECK(!finished_, who_,
                 " asks its servers after finish(), and none of them answers any ",
                 "more; ask before");
  for (std::size_t k = 0; k < ends_.size(); ++k) {
    try {
      body(*ends_[k]);
    } catch (const CommError& error) {
      failure_ = text(who_, ": server ", k, ", on rank ", ends_[k]->link.server_rank,
                      ", is lost, and its part of the parameters with it: ", error.what());
      throw CommError(failure_);
    }
  }
}

void ServerLinks::ask(const WorkerMessage& message) {
  each([&](End& end) { end.first = end.link.group->isend(end.messages.put(message), server); });
  each([](End& end) { end.first.wait(); });
}

ServersReply ServerLinks::take_answers() {
  each([](End& end) {
    end.first = end.link.group->irecv(end.messages.receive_buffer(), server);
    end.second = end.link.group->irecv(end.link.buffer, server);
  });
  each([](End& end) {
    end.first.wait();
    end.second.wait();
  });
  const ServerMessage told = ends_.front()->messages.server_message();
  return {told.version, told.staleness, told.number};
}

ServersReply ServerLinks::pull() {
  ask({.ask = Ask::pull});
  return take_answers();
}

ServersReply ServerLinks::push(double loss, double rate) {
  each([&](End& end) {
    const WorkerMessage message{.ask = Ask::push, .rate = rate, .loss = loss};
    end.first = end.link.group->isend(end.messages.put(message), server);
    end.second = end.link.group->isend(end.link.buffer, server);
  });
  each([](End& end) {
    end.first.wait();
    end.second.wait();
  });
  if (clip_ == Clip::by_servers) {
    each(
        [](End& end) { end.first = end.link.group->irecv(end.messages.receive_buffer(), server); });
    double square = 0;
    each([&](End& end) {
      end.first.wait();
      square += end.messages.server_message().number;
    });
    ask({.ask = Ask::norm, .number = std::sqrt(square)});
  }
  return take_answers();
}

void ServerLinks::settle() {
  each([](End& end) {
    do {
      end.link.group->send(end.messages.put(WorkerMessage{.ask = Ask::settle}), server);
      end.link.group->recv(end.messages.receive_buffer(), server);
    } while (end.messages.server_message().settled == 0);
    end.link.group->recv(end.link.buffer, server);
  });
}

void ServerLinks::pull_state(const std::vector<std::vector<Tensor>>& state) {
  std::size_t k = 0;
  each([&](End& end) {
    end.link.group->send(end.messages.put(WorkerMessage{.ask = Ask::state}), server);
    end.link.group->recv(end.messages.receive_buffer(), server);
    end.link.group->recv(end.link.buffer, server);
    for (const Tensor& tensor : state.at(k)) end.link.group->recv(tensor.view({-1}), server);
    ++k;
  });
}

void ServerLinks::finish() {
  ask({.ask = Ask::finish});
  finished_ = true;
}

std::int64_t ServerLinks::bytes_sent() const {
  std::int64_t bytes = 0;
  for (const auto& end : ends_) bytes += end->link.group->traffic().bytes_sent;
  return bytes;
}

void ServerLinks::give_up(const std::string& why) {
  for (const auto& end : ends_) WorkersReach::give_up(*end->link.group, why);
}

}  // namespace lockstep::async_sgd
