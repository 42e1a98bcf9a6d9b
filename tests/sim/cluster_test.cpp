#include "engine/sim/model/cluster.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

const std::string complete = R"(
name = "mine"
about = "two ranks a node"
ranks_per_node = 2
[within]
latency_s = 1e-6
gap_s = 0
bandwidth_bytes_s = 100
[between]
latency_s = 5e-6
gap_s = 1e-6
bandwidth_bytes_s = 10
[device]
name = "abacus"
memory_bytes = 1e3
memory_bandwidth_bytes_s = 50
bandwidth_achieved = 0.5
flops_achieved = 0.25
start_s = 1
[device.peak_flops_s]
float32 = 4
bfloat16 = 8
)";

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string changed = complete;
  changed.replace(changed.find(old_text), old_text.size(), new_text);
  return changed;
}

std::string error_of(const std::string& toml) {
  try {
    parse_cluster(toml, "mine.toml");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a cluster is what its file says") {
  const Cluster cluster = parse_cluster(complete, "mine.toml");
  CHECK(cluster.name == "mine");
  CHECK(cluster.network.ranks_per_node == 2);
  CHECK(cluster.network.cards_per_node == 0);
  CHECK(cluster.network.bandwidth_bytes_s == 100);
  CHECK(cluster.network.between.latency_s == 5e-6);
  CHECK(cluster.device.flops_s(DType::bfloat16) == 2);
  CHECK(cluster.device.flops_s(DType::float16) == 1);  // no rate of its own: float32's
  CHECK(cluster.device.bytes_s() == 25);
  CHECK(cluster.device.memory_bytes == 1000);
}

TEST_CASE(
    "what a cluster's file has wrong is named with line, key, what is expected and an example") {
  CHECK(error_of(with("gap_s = 0", "gap_s = \"none\"")) ==
        "mine.toml:7: within.gap_s is 'none'; expected a number of seconds, 0 or more, as in: "
        "gap_s = 2e-6");
  CHECK(error_of(with("bandwidth_bytes_s = 10\n", "bandwidth_bytes_s = 0\n")) ==
        "mine.toml:12: between.bandwidth_bytes_s is 0; expected a positive number of bytes per "
        "second, as in: bandwidth_bytes_s = 25e9");
  CHECK_THAT(error_of(with("ranks_per_node = 2", "ranks_per_node = 2.5")),
             test::contains("a whole number, 1 or more"));
  CHECK_THAT(error_of(with("ranks_per_node = 2", "ranks_per_node = true")),
             test::contains("a whole number, 1 or more"));
  CHECK_THAT(error_of(with("start_s = 1", "start_s = -1")), test::contains("device.start_s is -1"));
  CHECK_THAT(error_of(with("start_s = 1", "start_s = nan")),
             test::contains("device.start_s is nan"));
  CHECK_THAT(error_of(with("start_s = 1", "start_s = inf")),
             test::contains("device.start_s is inf"));
  CHECK_THAT(error_of(with("flops_achieved = 0.25", "flops_achieved = 1.5")),
             test::contains("a fraction above 0, at most 1"));
  CHECK_THAT(error_of(with("gap_s = 1e-6", "gap_s = 1e-6\ncards_per_node = 3")),
             test::contains("at most one card per rank"));
  CHECK_THAT(error_of(with("name = \"mine\"", "name = mine")), test::contains("mine.toml:2: not"));
}

TEST_CASE("what a cluster's file lacks or has too much is named, with the nearest key") {
  CHECK(error_of(with("start_s = 1", "")) ==
        "mine.toml: device.start_s is missing; it must be a number of seconds, 0 or more, as in: "
        "start_s = 2e-6 under [device]");
  CHECK_THAT(error_of(with("[between]", "[betwixt]")), test::contains("no section [between]"));
  CHECK_THAT(error_of(with("float32 = 4", "")), test::contains("peak_flops_s.float32 is missing"));
  CHECK_THAT(error_of(with("gap_s = 0", "gap_s = 0\nlatncy_s = 1")),
             test::contains("no key 'latncy_s' in [within]; did you mean latency_s?"));
  CHECK_THAT(error_of(with("ranks_per_node = 2", "")), test::contains("no key 'between'"));
}

TEST_CASE("a cluster's library is a section of its own, whose names are checked") {
  const std::string library =
      "[library]\nwire = \"pci\"\nstart_s = 1e-5\nport_achieved = 0.5\n"
      "ll_within_bytes_s = 7\nalgorithms_between = [\"ring\"]\n";
  const auto with_library = [&](const std::string& changed) { return complete + changed; };
  const Cluster cluster = parse_cluster(with_library(library), "mine.toml");
  REQUIRE(cluster.network.library);
  CHECK(cluster.network.library->wire == Wire::pci);
  CHECK(cluster.network.library->ll_between_bytes_s == 7);
  CHECK(cluster.network.library->between.algorithms == std::vector{Algorithm::ring});
  CHECK(cluster.network.library->within.algorithms.size() == all_algorithms.size());
  CHECK_THAT(error_of(with_library(library + "protocols_within = [\"LL\", \"Simpel\"]\n")),
             test::contains("library.protocols_within is 'Simpel'; expected a list of names, one "
                            "or more of LL, LL128, Simple"));
  CHECK_THAT(error_of(with_library(library + "protocols_within = []\n")),
             test::contains("a list of names"));
  CHECK_THAT(error_of(with_library("[library]\nwire = \"cable\"\n")),
             test::contains("one of nvlink, pci"));
  CHECK_THAT(error_of(with_library("[libary]\nwire = \"pci\"\n")),
             test::contains("no key 'libary' in a cluster; did you mean library?"));
}

TEST_CASE("a cluster's host is a section of its own, which the ranks of a node share") {
  const std::string host =
      "[host]\nname = \"shelf\"\nmemory_bytes = 600\nmemory_bandwidth_bytes_s = 40\n"
      "bandwidth_achieved = 0.5\nlink_bandwidth_bytes_s = 8\nlink_achieved = 0.25\n"
      "link_start_s = 3\n";
  const Cluster cluster = parse_cluster(complete + host, "mine.toml");
  REQUIRE(cluster.host);
  CHECK(cluster.host->copy_s(10) == 3 + 10 / 2.0);
  for (const auto& [ranks, of_node] : {std::pair{1, 1}, {2, 2}, {8, 2}}) {
    const DeviceModel share = cluster.share_of_host(ranks);
    CHECK(share.name == "shelf");
    CHECK(share.memory_bytes == 600 / of_node);
    CHECK(share.bytes_s() == 20.0 / of_node);
    CHECK(share.flops_s(DType::float32) > 1e300);
  }
  Cluster one_node = cluster;
  one_node.network.ranks_per_node = 0;
  CHECK(one_node.share_of_host(5).memory_bytes == 120);
  CHECK_FALSE(parse_cluster(complete, "mine.toml").host);
  CHECK_THAT(error_of(complete + "[host]\nname = \"shelf\"\n"),
             test::contains("host.memory_bytes is missing"));
  CHECK_THAT(error_of(complete + host + "link_gap_s = 1\n"),
             test::contains("no key 'link_gap_s' in [host]"));
  for (const Cluster& one : built_in_clusters()) {
    CAPTURE(one.name);
    REQUIRE(one.host);
    CHECK(one.share_of_host(8).memory_bytes >= 2'000'000'000);
    CHECK(one.host->memory_bandwidth_bytes_s > one.host->link_bandwidth_bytes_s);
  }
}

TEST_CASE("the built-in clusters are found by name") {
  for (const char* name : {"laptop", "a100", "h100", "ethernet", "v100", "b200", "summit"}) {
    CHECK(cluster_of(name).name == name);
    CHECK_THAT(list_of_clusters(), test::contains(name));
  }
  CHECK(cluster_of("h100").device.flops_s(DType::bfloat16) > 7e14);
  CHECK(cluster_of("ethernet").network.cards_per_node == 1);
  CHECK_THROWS_WITH(cluster_of("a10"), test::contains("did you mean a100?"));
  CHECK_THROWS_WITH(cluster_of("none.toml"), test::contains("no file none.toml"));
}
