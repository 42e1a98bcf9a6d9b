// The baton: who runs when, with threads that note their turns.
#include "engine/strand/baton.hpp"

#include <thread>
#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("baton: a new strand runs when its parent blocks, in the order of starting") {
  std::vector<int> turns;  // written by the holder only
  int idled = 0;
  Baton baton([&] {
    ++idled;
    baton.ready(0);
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    const int strand = baton.add();
    threads.emplace_back([&, strand] {
      baton.begin(strand);
      turns.push_back(baton.current());
      baton.leave();
    });
  }
  CHECK(turns.empty());
  CHECK(baton.live() == 5);
  baton.block();
  CHECK(turns == std::vector<int>{1, 2, 3, 4});
  CHECK(idled == 1);
  CHECK(baton.live() == 1);
  for (auto& thread : threads) thread.join();
}

TEST_CASE("baton: a thread that is no strand never holds it") {
  Baton baton([&] { baton.ready(0); });
  const int strand = baton.add();
  bool of_strand = false, of_other = true;
  std::thread other([&] { of_other = baton.is_mine(); });
  std::thread thread([&] {
    baton.begin(strand);
    of_strand = baton.is_mine();
    baton.leave();
  });
  CHECK(baton.is_mine());
  other.join();
  baton.block();
  CHECK(baton.is_mine());
  thread.join();
  CHECK(of_strand);
  CHECK_FALSE(of_other);
}

TEST_CASE("baton: alone, a strand that blocks runs idle itself and goes on") {
  int idled = 0;
  Baton baton([&] {
    if (++idled == 3) baton.ready(0);
  });
  baton.block();
  CHECK(idled == 3);
  CHECK(baton.current() == 0);
}

TEST_CASE("baton: strands go on in the order in which they were made ready") {
  std::vector<int> turns;
  const std::vector<int> script = {2, 1, 3, 3, 1, 2, 0};  // what idle makes ready, one at a time
  std::size_t at = 0;
  Baton baton([&] { baton.ready(script[at++]); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    const int strand = baton.add();
    threads.emplace_back([&, strand] {
      baton.begin(strand);
      for (int turn = 0; turn < 2; ++turn) {
        baton.block();
        turns.push_back(strand);
      }
      baton.leave();
    });
  }
  baton.block();
  CHECK(turns == std::vector<int>{2, 1, 3, 3, 1, 2});
  for (auto& thread : threads) thread.join();
}
