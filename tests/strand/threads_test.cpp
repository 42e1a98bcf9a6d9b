// Strands that are threads: join rethrows, and destruction joins.
#include <atomic>
#include <stdexcept>

#include "engine/strand/strand.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("thread strands: join returns when the body has, and rethrows what it threw") {
  const auto strands = make_thread_strands();
  std::atomic<int> ran = 0;
  auto good = strands->start("good", [&] { ++ran; });
  auto bad = strands->start("bad", [&] {
    ++ran;
    throw std::runtime_error("from inside");
  });
  good->join();
  CHECK_THROWS_WITH(bad->join(), "from inside");
  CHECK(ran == 2);
}

TEST_CASE("thread strands: a second join says that it is one, also behind one that threw") {
  const auto strands = make_thread_strands();
  auto bad = strands->start("bad", [] { throw std::runtime_error("from inside"); });
  CHECK_THROWS_WITH(bad->join(), "from inside");
  CHECK_THROWS_WITH(bad->join(), test::contains("this strand was joined before"));
}

TEST_CASE("thread strands: a strand that was not joined is joined by its destructor") {
  const auto strands = make_thread_strands();
  std::atomic<int> ran = 0;
  for (int i = 0; i < 5; ++i) auto dropped = strands->start("dropped", [&] { ++ran; });
  CHECK(ran == 5);
}
