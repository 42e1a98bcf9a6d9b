// The Gloo backend: one process per rank. Ranks of one host talk through shared memory
// (shm_group.hpp), which needs no library; others over TCP between all pairs, by Gloo: gloo.cpp
// when the library is there, no_gloo.cpp with the same symbols when it is not.
//
// How ranks that disagree are found over TCP: before each collective a round of one number a rank
// says whether all call the same, and the error says which rank called what. Besides, the kind,
// number, count and dtype of each operation go into the number under which Gloo matches messages,
// so that ranks that call different things never exchange a byte of data. With
// Agreement::at_deadline that is all there is: it costs nothing while all is well, and both sides
// wait for the deadline.
//
// Algorithms are Gloo's own, see gloo_collectives.hpp.
#pragma once

#include <memory>
#include <string>

#include "engine/comm/process_group.hpp"
#include "engine/comm/store.hpp"

namespace lockstep::comm {

enum class Agreement : std::uint8_t { checked, at_deadline };

// How ranks talk. `automatic`: by shared memory where all of them are on one host.
enum class Transport : std::uint8_t { automatic, gloo, shm };
// The transport of "auto", "gloo" or "shm", as command lines have them. Throws UsageError for
// anything else.
Transport transport_of(const std::string& name);

struct GlooOptions {
  double timeout_s = 30;               // of every operation; positive, also infinite
  double meet_timeout_s = 30;          // of the rendezvous: until all ranks are here
  std::string hostname = "127.0.0.1";  // this machine's address, as its peers reach it
  Agreement agreement = Agreement::checked;
  Transport transport = Transport::automatic;
  std::string node = {};       // ranks of one node share memory; empty: found out
  std::string name = "world";  // must be new in the store: one name, one group, one attempt
  RankNames names = {};        // what errors call these ranks
};

// The group of `size` ranks that call this with the same store and name.
//   Ensures   all ranks are connected to each other before any rank has the group, so a rank may
//             leave at once
//   Requires  `store` outlives the group and the groups split from it; Works do not outlive their
//             group, and a Work that is dropped unwaited keeps its tensor until the group ends
//   Comm      size 1 and ranks of one host use no network (and no Gloo); otherwise one connection
//             per pair
//   Traffic   exact for messages; native collectives are counted by formula (Traffic::modelled)
//   Thread    one thread of the rank calls; asynchronous collectives run on a thread of the group's
//             own, in order, and a blocking one runs in the caller when none is queued
//   Throws    CommError naming the ranks that did not come before the deadline. After a CommError
//             of any operation the group is poisoned: its connections are closed, so that peers
//             fail as well, and each later call fails at once with the first cause; no operation
//             that was started holds a tensor then. UsageError on all ranks where Transport::shm is
//             asked for ranks of several hosts
std::unique_ptr<ProcessGroup> make_gloo_group(Store& store, int rank, int size,
                                              const GlooOptions& options = {});

// True if this build has Gloo, so that ranks of several hosts can communicate.
bool has_tcp_groups();

}  // namespace lockstep::comm
