#include "engine/tensor/shape.hpp"

#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("shape: sizes are kept in their order, and equal when all of them are") {
  Shape shape{2, 3};
  shape.push_back(5);
  CHECK(shape == Shape{2, 3, 5});
  CHECK(shape != Shape{2, 3});
  CHECK(shape != Shape{2, 3, 6});
  CHECK(text_of(shape) == "[2, 3, 5]");
  CHECK(numel_of(shape) == 30);
  shape.erase(shape.begin() + 1);
  CHECK(shape == Shape{2, 5});
  shape.pop_back();
  CHECK(shape == Shape{2});
  CHECK(shape.front() == shape.back());
  shape.clear();
  CHECK(shape == Shape{});
  CHECK(numel_of(shape) == 1);
}

TEST_CASE("shape: what was behind the last size is of no account") {
  Shape shape{2, 3};
  shape.pop_back();
  shape.push_back(7);
  CHECK(shape == Shape{2, 7});
  shape.pop_back();
  CHECK(shape == Shape{2});
}

TEST_CASE("shape: more axes than there is room for are refused") {
  Shape shape;
  for (std::size_t axis = 0; axis < Shape::axes_max; ++axis) shape.push_back(1);
  CHECK_THROWS_AS(shape.push_back(1), ContractError);
  CHECK(shape.size() == Shape::axes_max);
}
