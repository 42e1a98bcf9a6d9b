// A description of a cluster: how many ranks a node has, its links, and the device of each rank. It
// is read from a TOML file; those that are built in are the files of engine/sim/clusters/, where
// each constant carries its source. Such a file is also the pattern for one of your own:
//   ./lab sim --cluster my_cluster.toml --ranks 64 ring_all_reduce
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/dtype.hpp"
#include "engine/sim/model/network.hpp"

namespace lockstep::sim {

// The device of one rank. An operation that does F floating-point operations of a matrix product
// and moves B bytes takes start_s + max(F / flops_s, B / bytes_s).
struct DeviceModel {
  std::string name;
  std::array<double, all_dtypes.size()> peak_flops_s{};  // by dtype; 0: that of float32
  double flops_achieved = 1;                             // of the peak, by large matrix products
  double memory_bandwidth_bytes_s = 0;
  double bandwidth_achieved = 1;  // of the memory's
  std::int64_t memory_bytes = 0;
  double start_s = 0;  // of one operation

  // The FLOP/s that large operations reach.
  double flops_s(DType dtype) const;
  double bytes_s() const { return memory_bandwidth_bytes_s * bandwidth_achieved; }
};

// The host of a node: its memory, and the processors that update what lies there. Each rank of the
// node has an equal share of both, and a link of its own. A copy of B bytes takes
// link_start_s + B / link_bytes_s in its direction; an update takes as long as its bytes do in the
// rank's share of the memory's bandwidth.
struct HostModel {
  std::string name;
  std::int64_t memory_bytes = 0;
  double memory_bandwidth_bytes_s = 0;
  double bandwidth_achieved = 1;  // of the memory's, by updates
  double link_bandwidth_bytes_s = 0;
  double link_achieved = 1;
  double link_start_s = 0;  // of one copy

  double copy_s(std::int64_t bytes) const {
    return link_start_s + static_cast<double>(bytes) / (link_bandwidth_bytes_s * link_achieved);
  }
};

struct Cluster {
  std::string name;
  std::string about;  // one line
  Network network;
  DeviceModel device;
  std::optional<HostModel> host{};

  // The share of the host of each of `ranks` ranks, as a device of theirs.
  //   Requires  host
  DeviceModel share_of_host(int ranks) const;
};

std::vector<Cluster> built_in_clusters();

// The built-in one of that name, or the one that a file describes (a name that ends in .toml).
//   Throws  UsageError that says what there is
Cluster cluster_of(const std::string& name_or_file);

//   file    named in errors
//   Throws  UsageError naming file, line, key, what is expected, what is there, and what to type
Cluster parse_cluster(std::string_view toml, const std::string& file);

// "laptop  ranks of one machine, …", a line for each after so many spaces, for a program's help.
std::string list_of_clusters(std::size_t indent = 0);

}  // namespace lockstep::sim
