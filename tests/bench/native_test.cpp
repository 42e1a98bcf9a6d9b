#include <fstream>
#include <sstream>

#include "engine/apps/measured_collectives.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::apps;

namespace {

std::vector<Measured> published() {
  std::ifstream file(LOCKSTEP_MEASURED);
  return read_measured(file, LOCKSTEP_MEASURED);
}

std::vector<Measured> read_text(const std::string& rows) {
  std::istringstream file("source,collective,gpu,n_gpus,nodes,bytes,time_us,busbw_GBps,notes\n" +
                          rows);
  return read_measured(file, "rows.csv");
}

}  // namespace

TEST_CASE("measured: the modelled clusters are as near to the published figures as the page says") {
  const auto rows = published();
  REQUIRE(rows.size() > 300);
  for (const SourceErrors& source : errors_of(rows, sim::built_in_clusters())) {
    if (source.cluster.empty()) continue;
    INFO(source.source << " as " << source.cluster);
    CHECK(source.large.median <= (source.cluster == "summit" ? 0.20 : 0.10));
    CHECK(source.small.median <= 0.30);
  }
}

TEST_CASE("measured: a bus bandwidth and a share of the peak are turned into times") {
  const auto clusters = sim::built_in_clusters();
  const auto seconds = [&](const std::string& row) {
    return compare(read_text(row).at(0), clusters)->measured_s;
  };
  CHECK(seconds("x,all_reduce,A100,8,1,1000000,12.5,99,\n") == Approx(12.5e-6));
  CHECK(seconds("x,all_reduce,A100,8,1,1000000,,100,\n") == Approx(2 * 7.0 / 8 * 1e6 / 100e9));
  CHECK(seconds("x,all_gather,H200,8,1,1000000,,100,\n") == Approx(7.0 / 8 * 1e6 / 100e9));
  // Eight cards of 50 GB/s, half of which a ring reaches.
  CHECK(seconds("SimAI nic_ratio,all_reduce(NIC),H-class,16,2,1000000,,0.5,\n") ==
        Approx(2 * 15.0 / 16 * 1e6 / 200e9));
}

TEST_CASE(
    "measured: what a row forces is what is priced, and hardware that no cluster is, is left") {
  const auto clusters = sim::built_in_clusters();
  const auto of = [&](const std::string& row) { return compare(read_text(row).at(0), clusters); };
  CHECK(of("x,all_reduce (NVLS as chosen),H200,8,1,8589934592,,473,\n")->price.algorithm ==
        sim::Algorithm::in_switch);
  CHECK(of("x,\"all_reduce (NVLS off, ring)\",H200,8,1,8589934592,,366,\n")->price.algorithm ==
        sim::Algorithm::ring);
  CHECK_FALSE(of("x,all_reduce,unstated,32,4,65536,,1.6,\n"));
  CHECK_FALSE(of("x,NVLink part,H-class,16,2,65536,,0.5,\n"));
}

TEST_CASE("measured: a row that is none is named with its line") {
  CHECK_THROWS_WITH(read_text("a,b,c\n"), test::contains("rows.csv:2: a row has 9 fields"));
  CHECK_THROWS_WITH(read_text("x,all_reduce,A100,8,1,many,1,1,\n"),
                    test::contains("'many' is not a number"));
  CHECK_THROWS_WITH(read_text("x,all_reduce,A100,8,1,8,,,\n"), test::contains("neither a time"));
}
