#include "engine/base/units.hpp"

#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("units: one of a thing has no plural, and what ends in a hiss has another one") {
  CHECK(counted(0, "rank") == "0 ranks");
  CHECK(counted(1, "rank") == "1 rank");
  CHECK(counted(2, "rank") == "2 ranks");
  CHECK(counted(1, "more line") == "1 more line");
  CHECK(counted(5, "epoch") == "5 epochs");
  CHECK(counted(2, "micro-batch") == "2 micro-batches");
  CHECK(counted(2, "pass") == "2 passes");
  CHECK(counted(2, "batch") == "2 batches");
  CHECK(counted(2, "epoch") == "2 epochs");
  CHECK(counted(2, "batch") == "2 batches");
  CHECK(counted(1, "address") == "1 address");
  CHECK(counted(-1, "byte") == "-1 bytes");
}

TEST_CASE("units: bytes are counted up to 10,000, then MB and GB") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1) == "1 byte");
  CHECK(bytes_text(9'999) == "9999 bytes");
  CHECK(bytes_text(10'000) == "0.01 MB");
  CHECK(bytes_text(80'000'000'000) == "80.00 GB");
}
