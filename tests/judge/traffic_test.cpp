#include "grader/exam/ranks/traffic.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

TEST_CASE("ring_bytes: 8 ranks and 10 units send 17.5 each, a single rank nothing") {
  CHECK(ring_bytes(10, 8) == 17.5);
  CHECK(ring_bytes(10, 1) == 0);
}

TEST_CASE("busiest_rank_bytes: messages and native collectives add up") {
  sim::Counters counters;
  counters.ranks.resize(4);
  counters.ranks[2].bytes_sent = 5;
  counters.ranks[1].bytes_sent = 3;
  CHECK(busiest_rank_bytes(counters) == 5);
  const std::vector<double> four(4, 0.0);
  counters.collectives.push_back({sim::Collective::all_reduce, 0, 100, four, 0});
  CHECK(busiest_rank_bytes(counters) == 5 + 150);
  counters.collectives.push_back({sim::Collective::all_gather, 0, 100, four, 0});
  CHECK(busiest_rank_bytes(counters) == 5 + 150 + 300);
  counters.collectives.push_back({sim::Collective::broadcast, 0, 100, four, 0});
  counters.collectives.push_back({sim::Collective::barrier, 0, 0, four, 0});
  CHECK(busiest_rank_bytes(counters) == 5 + 150 + 300 + 100);
}

TEST_CASE("total_bytes: a broadcast is N-1 copies, other collectives N shares") {
  sim::Counters counters;
  counters.ranks.resize(4);
  counters.ranks[2].bytes_sent = 5;
  counters.ranks[1].bytes_sent = 3;
  CHECK(total_bytes(counters) == 8);
  const std::vector<double> four(4, 0.0);
  counters.collectives.push_back({sim::Collective::broadcast, 0, 100, four, 0});
  CHECK(total_bytes(counters) == 8 + 300);
  counters.collectives.push_back({sim::Collective::all_reduce, 0, 100, four, 0});
  CHECK(total_bytes(counters) == 8 + 300 + 4 * 150);
  counters.collectives.push_back({sim::Collective::broadcast, 0, 100, {0.0}, 0});
  CHECK(total_bytes(counters) == 8 + 300 + 4 * 150);
}
