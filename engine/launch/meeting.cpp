#include "engine/launch/meeting.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <iostream>
#include <list>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/launch/address.hpp"

namespace lockstep::launch {

namespace {

using comm::Descriptor;
using nlohmann::json;

std::string nodes_typed(int least, int most) {
  return least > 0 ? text(least, ":", most) : text(most);
}

// Gathers the launchers of all nodes but this one.
class Meeting {
 public:
  Meeting(const LaunchOptions& options, Descriptor listener)
      : options_(options), listener_(std::move(listener)) {}

  // By node number; nodes()[0] is no guest's and stays empty.
  std::vector<std::optional<Guest>> gather() {
    const auto deadline = comm::deadline_after(options_.nodes.timeout_s);
    while (static_cast<int>(known()) < options_.nodes.count - 1) {
      std::vector<pollfd> entries{{listener_.get(), POLLIN, 0}};
      for (const Guest& guest : guests_) entries.push_back({guest.channel.fd(), POLLIN, 0});
      if (poll(entries.data(), entries.size(), comm::poll_ms_until(deadline)) == 0) give_up();
      for (Guest& guest : guests_) {
        hear_hello(guest, [&](const Hello& hello) { return complaint_about(hello); });
      }
      guests_.remove_if([](const Guest& guest) { return guest.channel.lost(); });
      if (entries[0].revents == 0) continue;
      if (auto guest = accept_guest(listener_)) guests_.push_back(std::move(*guest));
    }
    return seated();
  }

 private:
  std::size_t known() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(guests_, [](const Guest& guest) { return guest.hello.has_value(); }));
  }

  std::string complaint_about(const Hello& hello) const {
    const int count = options_.nodes.count;
    if (std::string why = complaint_about_count(hello, options_); !why.empty()) return why;
    const auto is_same = [&](const Guest& guest) {
      return guest.hello && hello.node >= 0 && guest.hello->node == hello.node;
    };
    const auto same = std::ranges::find_if(guests_, is_same);
    if (hello.node == 0 || same != guests_.end()) {
      return text("node ", hello.node,
                  " exists twice: ", hello.node == 0 ? name_of_host() : same->hello->host,
                  " already has it, and ", hello.host, " says --node-rank ", hello.node,
                  " too; give each node its own");
    }
    if (static_cast<int>(known()) == count - 1) return text("all ", count, " nodes have joined");
    return "";
  }

  std::vector<std::optional<Guest>> seated() {
    std::vector<std::optional<Guest>> nodes(static_cast<std::size_t>(options_.nodes.count));
    for (Guest& guest : guests_) {
      if (!guest.hello || guest.hello->node < 0) continue;
      nodes[static_cast<std::size_t>(guest.hello->node)] =
          std::exchange(guest, {Channel(Descriptor()), {}});
    }
    std::size_t next = 1;
    for (Guest& guest : guests_) {
      if (!guest.hello) continue;
      while (nodes[next]) ++next;
      nodes[next] = std::move(guest);
    }
    return nodes;
  }

  [[noreturn]] void give_up() {
    auto nodes = seated();
    std::string missing;
    int count = 0;
    for (std::size_t node = 1; node < nodes.size(); ++node) {
      if (nodes[node]) continue;
      missing += text(count++ == 0 ? "" : ", ", node);
    }
    const std::string report =
        text(count == 1 ? "node " : "nodes ", missing, " of ", options_.nodes.count,
             " did not reach ", text_of(options_.nodes.endpoint), " within ",
             options_.nodes.timeout_s, " s; start the same command there, with --nnodes ",
             options_.nodes.count, " and an --rdzv-endpoint that reaches this machine");
    for (auto& guest : nodes) {
      if (guest) guest->channel.send({{"end", {{"code", 1}, {"report", report}}}});
    }
    throw CommError(report);
  }

  const LaunchOptions& options_;
  Descriptor listener_;
  std::list<Guest> guests_;  // in the order of arrival
};

}  // namespace

std::optional<Guest> accept_guest(const Descriptor& listener) {
  pollfd entry{listener.get(), POLLIN, 0};
  if (poll(&entry, 1, 0) <= 0) return std::nullopt;
  Descriptor connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection.get() < 0) return std::nullopt;
  return Guest{Channel(std::move(connection)), {}};
}

bool hear_hello(Guest& guest, const std::function<std::string(const Hello&)>& complaint) {
  for (json& message : guest.channel.receive()) {
    std::optional<Hello> hello;
    std::string why = "that is not a launcher's hello";
    try {
      if (message.at("hello").at("lockstep") != Hello().lockstep) {
        why = "the launchers have different versions";
      } else {
        hello = message["hello"].get<Hello>();
        why = complaint(*hello);
      }
    } catch (const json::exception&) {
    }
    if (why.empty()) {
      guest.hello = hello;
      return true;
    }
    std::cerr << "lab run: refused the launcher at " + guest.channel.peer() + ": " + why + "\n";
    guest.channel.send({{"refused", {{"why", why}}}});
    guest.channel = Channel(Descriptor());
  }
  return false;
}

std::string complaint_about_count(const Hello& hello, const LaunchOptions& options) {
  const NodeOptions& ours = options.nodes;
  const int least = ours.elastic ? ours.elastic->nodes_min : 0;
  if (hello.nodes != ours.count || hello.nodes_min != least) {
    return text("--nnodes is ", nodes_typed(hello.nodes_min, hello.nodes), " on ", hello.host,
                ", but node 0 (", name_of_host(), ") says ", nodes_typed(least, ours.count),
                "; use the same value on every node");
  }
  if (hello.node < -1 || hello.node >= ours.count || hello.ranks < 1) {
    return text("--node-rank ", hello.node, " of ", hello.host, " is not between 0 and ",
                ours.count - 1);
  }
  return "";
}

std::string complaint_about_command(const Hello& hello, const LaunchOptions& options) {
  const std::string ours = command_to_compare(options);
  if (hello.command == ours) return "";
  return text(hello.host, " starts ", hello.command, ", but node 0 (", name_of_host(), ") ", ours,
              "; where nodes come and go, a round has one command: type the same on every node");
}

std::vector<std::optional<Guest>> gather_guests(const LaunchOptions& options, Descriptor listener) {
  return Meeting(options, std::move(listener)).gather();
}

}  // namespace lockstep::launch
