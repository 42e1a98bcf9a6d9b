// The files of engine/sim/clusters/ as they are, made by CMake. Internal to engine/sim.
#pragma once

#include <span>
#include <string_view>

namespace lockstep::sim {

struct BuiltInCluster {
  std::string_view file;
  std::string_view toml;
};
extern const std::span<const BuiltInCluster> built_in_cluster_files;

}  // namespace lockstep::sim
