#include "engine/base/seeds.hpp"

#include <set>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("seeds: 64 ranks of 16 workers in two runs next to each other draw no stream twice") {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t run_seed : {7U, 8U}) {
    for (int data = 0; data < 64; ++data) {
      seen.insert(seeds_for(run_seed, {data, 0, 0}, 0).dropout);
      seen.insert(seeds_for(run_seed, {data, 0, 0}, 0).dropout_sharded);
      for (int worker = 0; worker < 16; ++worker) {
        seen.insert(seeds_for(run_seed, {data, 0, 0}, worker).augmentation);
      }
    }
  }
  CHECK(seen.size() == 2 * 64 * (2 + 16));
}

TEST_CASE("seeds: what ranks hold alike they treat alike") {
  const Seeds first = seeds_for(3, {1, 0, 2}, 0), peer = seeds_for(3, {1, 5, 2}, 0);
  CHECK(first.model == peer.model);
  CHECK(first.sampler == peer.sampler);
  CHECK(first.dropout == peer.dropout);
  CHECK(first.dropout_sharded != peer.dropout_sharded);
  CHECK(first.augmentation == peer.augmentation);
  CHECK(first.model == seeds_for(3, {4, 0, 0}, 9).model);
  CHECK(first == seeds_for(3, {1, 0, 2}, 0));
}

TEST_CASE("seeds: the run seed is that of the model and of the sampler, as a person types it") {
  CHECK(seeds_for(42, {5, 1, 0}, 3).model == 42);
  CHECK(seeds_for(42, {5, 1, 0}, 3).sampler == 42);
}

TEST_CASE("seeds: a place that does not exist is refused") {
  CHECK_THROWS_AS(seeds_for(1, {-1, 0, 0}, 0), ContractError);
  CHECK_THROWS_AS(seeds_for(1, {0, -1, 0}, 0), ContractError);
  CHECK_THROWS_AS(seeds_for(1, {0, 0, -1}, 0), ContractError);
  CHECK_THROWS_AS(seeds_for(1, {0, 0, 0}, -1), ContractError);
}
