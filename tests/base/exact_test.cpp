#include "engine/base/exact.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("exact integers: a result is right to the last unit, or refused with both operands") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(exact_sum(most - 1, 1) == most);
  CHECK(exact_sum(most, std::numeric_limits<std::int64_t>::min()) == -1);
  CHECK(exact_product(most / 2, 2) == most - 1);
  CHECK(exact_product(-3, 5) == -15);
  CHECK_THROWS_AS(exact_sum(most, 1), ContractError);
  CHECK_THROWS_WITH(exact_product(most, 2),
                    test::contains("9223372036854775807 * 2 does not fit into 64 bits"));
}
