// Fibers: who runs when, exceptions across switches, and stacks.
#include "engine/strand/fiber.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

// Suspends while it is destroyed, that is, in the middle of an exception's way up.
struct SuspendsAtTheEnd {
  Fiber& fiber;
  int& uncaught_after;
  ~SuspendsAtTheEnd() {
    fiber.suspend();
    uncaught_after = std::uncaught_exceptions();
  }
};

int depth_of(int levels) {
  volatile char room[1024] = {};
  room[0] = 1;
  return levels == 0 ? room[0] : depth_of(levels - 1) + room[0];
}

}  // namespace

TEST_CASE("fiber: exceptions in flight belong to the fiber, not to the thread") {
  std::vector<std::string> said;
  const auto catches = [&](const std::string& name) {
    return [&said, name](Fiber& self) {
      try {
        throw std::runtime_error(name);
      } catch (const std::runtime_error&) {
        self.suspend();  // inside the handler
        try {
          throw;
        } catch (const std::runtime_error& error) {
          said.push_back(error.what());
        }
      }
      CHECK(std::current_exception() == nullptr);
    };
  };
  Fiber a(FiberStack(), catches("a")), b(FiberStack(), catches("b"));
  a.resume();
  CHECK(std::current_exception() == nullptr);
  b.resume();
  a.resume();  // not in the order of a stack
  b.resume();
  CHECK(said == std::vector<std::string>{"a", "b"});
  CHECK((a.done() && b.done()));
}

TEST_CASE("fiber: one that is switched away from while it unwinds counts its own exceptions") {
  int after_a = -1, after_b = -1;
  const auto unwinds = [](int& after) {
    return [&after](Fiber& self) {
      try {
        SuspendsAtTheEnd last{self, after};
        throw std::runtime_error("up");
      } catch (const std::runtime_error&) {
        CHECK(std::uncaught_exceptions() == 0);
      }
    };
  };
  Fiber a(FiberStack(), unwinds(after_a)), b(FiberStack(), unwinds(after_b));
  a.resume();
  CHECK(std::uncaught_exceptions() == 0);
  b.resume();
  a.resume();
  b.resume();
  CHECK(after_a == 1);
  CHECK(after_b == 1);
}

TEST_CASE("fiber: what its body throws comes out of resume, and the fiber is done") {
  Fiber fiber(FiberStack(), [](Fiber& self) {
    self.suspend();
    throw std::runtime_error("from inside");
  });
  fiber.resume();
  CHECK_FALSE(fiber.done());
  CHECK_THROWS_WITH(fiber.resume(), "from inside");
  CHECK(fiber.done());
  CHECK_THROWS_AS(fiber.resume(), ContractError);
}

TEST_CASE("fiber: fibers resume fibers, and each goes back to who resumed it") {
  std::string order;
  Fiber inner(FiberStack(), [&](Fiber& self) {
    order += "b";
    self.suspend();
    order += "d";
  });
  Fiber outer(FiberStack(), [&](Fiber& self) {
    order += "a";
    inner.resume();
    order += "c";
    self.suspend();
    order += "e";
  });
  outer.resume();
  inner.resume();
  outer.resume();
  CHECK(order == "abcde");
}

TEST_CASE(
    "fiber: who is handed over to goes back to who resumed the first, each with its exceptions") {
  std::string order;
  Fiber* second_place = nullptr;
  Fiber first(FiberStack(), [&](Fiber& self) {
    try {
      throw std::runtime_error("1");
    } catch (const std::runtime_error&) {
      order += "a";
      self.hand_over(*second_place);
      order += std::current_exception() == nullptr ? "?" : "d";
    }
  });
  Fiber second(FiberStack(), [&](Fiber& self) {
    order += std::current_exception() == nullptr ? "b" : "?";
    self.suspend();
    order += "c";
    self.hand_over(first);
    order += "f";
    throw std::runtime_error("2");
  });
  second_place = &second;
  first.resume();
  CHECK(order == "ab");
  second.resume();
  CHECK(order == "abcd");
  CHECK((first.done() && !second.done()));
  CHECK(std::current_exception() == nullptr);
  order += "e";
  CHECK_THROWS_WITH(second.resume(), "2");
  CHECK(order == "abcdef");
}

TEST_CASE("fiber: locals live across ten thousand switches of a thousand fibers") {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<int> sums(1000);
  for (int i = 0; i < 1000; ++i) {
    fibers.push_back(std::make_unique<Fiber>(FiberStack(), [i, &sums](Fiber& self) {
      double fraction = 0.25 * i;
      for (int turn = 0; turn < 10; ++turn) {
        self.suspend();
        fraction += 1;
      }
      sums[static_cast<std::size_t>(i)] = static_cast<int>(4 * fraction);
    }));
  }
  for (int turn = 0; turn <= 10; ++turn) {
    for (auto& fiber : fibers) fiber->resume();
  }
  for (int i = 0; i < 1000; ++i) CHECK(sums[static_cast<std::size_t>(i)] == i + 40);
}

TEST_CASE("fiber: a stack has the room that was asked for, and serves again") {
  FiberStack stack(std::size_t{1} << 20);
  for (int i = 0; i < 3; ++i) {
    int seen = 0;
    Fiber fiber(std::move(stack), [&](Fiber&) { seen = depth_of(300); });
    fiber.resume();
    CHECK(seen == 301);
    stack = fiber.take_stack();
  }
  CHECK(stack.memory().size() == std::size_t{1} << 20);
}

TEST_CASE("fiber: one that is dropped half-way is abandoned, without destructors") {
  int destroyed = 0;
  {
    Fiber fiber(FiberStack(), [&](Fiber& self) {
      SuspendsAtTheEnd never{self, destroyed};
      self.suspend();
    });
    fiber.resume();
  }
  CHECK(destroyed == 0);
  {
    Fiber never_begun(FiberStack(), [&](Fiber&) { destroyed = 1; });
  }
  CHECK(destroyed == 0);
}
