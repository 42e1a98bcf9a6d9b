// Ranks of several hosts: a group that stands in front of others. Of each host one rank, its
// lowest, leads.
//
//   within a host       shared memory, where more than one rank is on it
//   between the hosts   TCP among the leaders
//   all ranks           TCP between all pairs
//
// An all_reduce is reduced within each host, summed among the leaders and broadcast within each
// host; a broadcast goes from the root to its host, among the leaders and within the other hosts; a
// barrier goes in and out the same way. So N ranks on H hosts send what H ranks would over the
// network. All other collectives go over TCP among all ranks, and so do messages, but for those
// within a host.
//
// Before each collective the ranks compare what they call, within the host and then among the
// leaders. When one of the groups fails, this rank gives up the others as well, so that no rank
// waits for a deadline because of a failure on another host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/worlds/tcp/tcp_group.hpp"

namespace lockstep::comm {

// Needs Gloo. The group of the ranks that call this with the same store and name; `hosts` says for
// each of them where it is.
//   Requires  hosts.size() > 1 and not all the same
//   Traffic   as of the Gloo backend
std::unique_ptr<ProcessGroup> make_hosts_group(Store& store, int rank,
                                               std::vector<std::string> hosts,
                                               const GlooOptions& options);

// The group by the transport that suits these hosts: of one rank, of one host, or of several.
std::unique_ptr<ProcessGroup> make_group_on(Store& store, int rank, std::vector<std::string> hosts,
                                            const GlooOptions& options);

}  // namespace lockstep::comm
