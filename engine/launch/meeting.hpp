// Launchers that knock at node 0's door: who they are, and whether they may come in.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/launch/channel.hpp"
#include "engine/launch/messages.hpp"

namespace lockstep::launch {

// A launcher that has connected; `hello` is there once it has said it.
struct Guest {
  Channel channel;
  std::optional<Hello> hello;
};

// The next that knocks; nothing when nobody does.
std::optional<Guest> accept_guest(const comm::Descriptor& listener);
// Reads what the guest says, without waiting. It is told why it is refused, and its channel is
// lost.
//   complaint  why the hello is refused; empty: it is welcome
//   Returns    true when it has said hello, and is welcome
bool hear_hello(Guest& guest, const std::function<std::string(const Hello&)>& complaint);

// A hello that has other --nnodes, or a number that no node has; empty: neither.
std::string complaint_about_count(const Hello& hello, const LaunchOptions& options);
// A hello of a launcher that starts something else; empty: the same.
std::string complaint_about_command(const Hello& hello, const LaunchOptions& options);

// Waits for the launchers of all nodes but this one, if membership is fixed. Those without a
// number of their own get the numbers that are left, in the order in which they came.
//   Returns  by node; [0] is no guest's and stays empty
//   Throws   CommError naming the nodes that did not come before the deadline
std::vector<std::optional<Guest>> gather_guests(const LaunchOptions& options,
                                                comm::Descriptor listener);

}  // namespace lockstep::launch
