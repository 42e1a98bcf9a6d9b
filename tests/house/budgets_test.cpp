// Budgets of lines on made-up rooms.
#include "tests/house/budgets.hpp"

#include "tests/catch.hpp"

using namespace lockstep::house;

namespace {

Source file(const std::string& path, std::size_t lines) {
  return {path, std::vector<std::string>(lines, "// line")};
}

const Budgets two_rooms("engine/base 30|engine/parallel/ddp 20");

}  // namespace

TEST_CASE("budgets: rooms within their budgets pass, to the line") {
  CHECK(two_rooms.complaints({file("engine/base/a.hpp", 10), file("engine/base/inner/b.cpp", 20),
                              file("engine/parallel/ddp/c.cpp", 1)}) == Complaints{});
}

TEST_CASE("budgets: one line more is told with room, lines, budget and what to do") {
  CHECK(two_rooms.complaints({file("engine/base/a.hpp", 11), file("engine/base/b.cpp", 20),
                              file("engine/parallel/ddp/c.cpp", 20)}) ==
        Complaints{"engine/base has 31 lines, 1 more than its budget of 30: take lines out, or "
                   "raise the budget in LOCKSTEP_LINES_MAX in cmake/rooms.cmake in a commit that "
                   "says what they are worth"});
}

TEST_CASE("budgets: a room without a budget, and a budget without a room") {
  CHECK(two_rooms.complaints({file("engine/base/a.hpp", 1), file("engine/cellar/a.hpp", 2),
                              file("engine/cellar/b.cpp", 3)}) ==
        Complaints{"engine/cellar has 5 lines and no budget: give its room one in "
                   "LOCKSTEP_LINES_MAX in cmake/rooms.cmake",
                   "engine/parallel/ddp has a budget but no sources: take it out of "
                   "LOCKSTEP_LINES_MAX in cmake/rooms.cmake"});
}
