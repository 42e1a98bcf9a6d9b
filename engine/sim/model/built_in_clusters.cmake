# Writes built_in_clusters.cpp, the files of clusters/ as text, and has it written again when one of
# them changes. Sets `built_in_clusters` to its path.
set(order laptop a100 h100 ethernet v100 b200 summit)
set(built_in_clusters ${CMAKE_CURRENT_BINARY_DIR}/built_in_clusters.cpp)
set(entries "")
foreach(name IN LISTS order)
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/clusters/${name}.toml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} content)
  string(APPEND entries "    {\"engine/sim/clusters/${name}.toml\", R\"toml(${content})toml\"},\n")
endforeach()
set(content "#include \"engine/sim/model/built_in_clusters.hpp\"\n
namespace lockstep::sim {
namespace {
constexpr BuiltInCluster files[] = {
${entries}};
}
const std::span<const BuiltInCluster> built_in_cluster_files(files);
}  // namespace lockstep::sim\n")
file(CONFIGURE OUTPUT ${built_in_clusters} CONTENT "${content}" @ONLY)
