// Ranks that meet in the store: to begin, when they are connected, and when something failed,
// because a network library knows addresses but only the ranks themselves know who is who.
#pragma once

#include <string>
#include <vector>

#include "engine/comm/endpoint.hpp"
#include "engine/comm/rank_names.hpp"
#include "engine/comm/store.hpp"

namespace lockstep::comm {

// Waits until all ranks called this, by the part store_rendezvous. `keys` is the group's own part
// of the store; a restarted group has another name.
//   Returns  what each rank calls its machine (the ports are 0)
//   Throws   CommError naming the ranks that did not come
std::vector<Endpoint> meet(Store& keys, int rank, int size, const RankNames& names,
                           const std::string& hostname, const std::string& group, double timeout_s);

// Waits until all ranks are connected, so that none leaves while another still connects. `refusal`
// is empty on a rank that is connected; one that is not says why, and does not wait.
//   Throws  CommError with the refusal of a rank, or naming the ranks that said nothing
void shake_hands(Store& keys, int rank, int size, const RankNames& names,
                 const std::string& refusal, const std::string& group, double timeout_s);

// Collects what the other ranks know about a failure. Each failing rank writes what it was doing
// and gives the others a moment (`wait_s`, and as long again if several are silent): a rank that
// writes nothing has ended or never made the call, and one that writes something else disagrees.
// Returns the rest of a sentence; throws nothing.
std::string diagnosis(Store& keys, int rank, int size, const RankNames& names,
                      const std::string& doing, double wait_s = 0.5);

// This rank ends the group outside of a call: its peers' diagnosis has `why`, a sentence that names
// it. Throws nothing.
void say_given_up(Store& keys, int rank, const std::string& why);

// True if any rank has failed or given up, as far as this one can ask.
bool any_failed(Store& keys);

// For ranks that wait where no failure of a peer wakes them. The first reason of all stays; empty
// as long as there is none. Both throw nothing.
void say_why(Store& keys, const std::string& why);
std::string why_failed(Store& keys);

// Gloo writes to its sockets without MSG_NOSIGNAL: writing to a peer that has just died would end
// this process by SIGPIPE, before it can say who died. Ignores that signal in the whole process,
// unless the program has a handler of its own; the library forces this one piece of global state.
void ignore_broken_pipes();

}  // namespace lockstep::comm
