// What docs/cpp.md tells Python programmers about C++, as tests: the page quotes them.
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "engine/comm/work.hpp"
#include "engine/tensor/tensor.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("C++: the remainder of a negative number is negative") {
  const int n = 4, rank = 0;
  CHECK((rank - 1) % n == -1);     // Python: 3
  CHECK((rank + n - 1) % n == 3);  // the left neighbour
}

TEST_CASE("C++: integers divide to integers, towards zero") {
  const int elements = 7, ranks = 2;
  CHECK(elements / ranks == 3);                // as 7 // 2
  CHECK(-elements / ranks == -3);              // Python: -4
  CHECK((elements + ranks - 1) / ranks == 4);  // rounded up
  CHECK(1 / ranks == 0);                       // not a half:
  CHECK(1.0 / ranks == 0.5);                   // one of the two must be a double
}

TEST_CASE("C++: an unsigned number does not go below zero") {
  const std::vector<int> nobody;
  CHECK(nobody.size() - 1 > 1'000'000'000);  // size() is unsigned: 0 - 1 is huge
  CHECK(std::ssize(nobody) - 1 == -1);       // ssize() is signed
}

TEST_CASE("C++: a product has the type of its factors") {
  const int rows = 50'000, columns = 50'000;
  // rows * columns would be an int, which ends at 2,147,483,647, whatever it is assigned to
  const std::int64_t product = std::int64_t{rows} * columns;
  CHECK(product == 2'500'000'000);
}

TEST_CASE("C++: a sum has the type of its first value") {
  const std::vector<double> losses = {0.5, 0.25, 0.75};
  CHECK(std::accumulate(losses.begin(), losses.end(), 0) == 0);      // an int: cut off each time
  CHECK(std::accumulate(losses.begin(), losses.end(), 0.0) == 1.5);  // a double
}

TEST_CASE("C++: a vector is copied, a tensor's handle is not its elements") {
  CpuDevice device;
  std::vector<double> a = {1, 2, 3};
  std::vector<double> b = a;  // copies three numbers; in Python it would be the same list
  b[0] = 42;
  CHECK(a[0] == 1);

  const Tensor t = from_values(a, {3}, DType::float32, device);
  const Tensor u = t;  // the same elements, as in Python
  u.fill_(42);
  CHECK(t.item(0) == 42);
  CHECK_FALSE(t.clone().same_place(t));  // copies elements
}

namespace {

void rebinds(Tensor data) { data = data.clone(), data.fill_(42); }
void writes(Tensor data) { data.copy_(full({3}, 42, DType::float32, data.device())); }

}  // namespace

TEST_CASE("C++: = takes another tensor in hand, copy_ writes into the one that is there") {
  CpuDevice device;
  const Tensor mine = zeros({3}, DType::float32, device);
  rebinds(mine);
  CHECK(mine.item(0) == 0);
  writes(mine);
  CHECK(mine.item(0) == 42);
}

TEST_CASE("C++: only zeros() and vectors begin with zeros") {
  CpuDevice device;
  const std::vector<double> sums(3);  // zeros
  const Tensor sum = zeros({3}, DType::float32, device);
  const Tensor room = sum.empty_like(3);  // anything: to be written before it is read
  room.copy_(sum);
  CHECK(room.item(2) == sums[2]);
}

TEST_CASE("C++: what refers to a vector's element does not survive its growing") {
  std::vector<int> parts = {1};
  const int& first = parts.front();
  CHECK(first == 1);
  for (int part = 2; part < 100; ++part) parts.push_back(part);  // moves them all elsewhere
  CHECK(parts.front() == 1);                                     // `first` is nobody's now
}

TEST_CASE("C++: a lambda that captures by reference looks when it runs") {
  std::vector<std::function<int()>> by_value, by_reference;
  int rank = 0;
  for (; rank < 3; ++rank) {
    by_value.push_back([rank] { return rank; });
    by_reference.push_back([&rank] { return rank; });
  }
  CHECK(by_value.front()() == 0);
  CHECK(by_reference.front()() == 3);  // and if rank were gone: anything
}

TEST_CASE("C++: a map makes what it is asked for") {
  std::map<int, double> loss_of_rank = {{0, 0.5}};
  CHECK(loss_of_rank[1] == 0.0);  // makes an entry
  CHECK(loss_of_rank.size() == 2);
  CHECK_THROWS(loss_of_rank.at(2));  // looks, and throws when there is none
}

TEST_CASE("C++: a Work is waited for once, by whoever has it") {
  comm::Work sending;  // an operation that is over already
  comm::Work moved = std::move(sending);
  moved.wait();
  CHECK(moved.complete());
}

namespace {

// Begins something and returns what is left to do when it is over.
std::function<void()> halve_later(const Tensor& data) {
  const Tensor half = data.clone();  // a local handle: it is gone when this function returns
  half.scale_(0.5);
  return [data, half] { data.copy_(half); };
}

}  // namespace

TEST_CASE("C++: a continuation takes along what it needs, because it runs later") {
  CpuDevice device;
  const Tensor data = full({1}, 8, DType::float32, device);
  const std::function<void()> finish = halve_later(data);
  CHECK(data.item(0) == 8);  // nothing has been written yet
  finish();
  CHECK(data.item(0) == 4);  // `half` lives on in `finish`
}

TEST_CASE("C++: std::move moves nothing by itself") {
  std::vector<int> ranks = {0, 1, 2};
  auto&& same = static_cast<std::vector<int>&&>(ranks);  // what std::move(ranks) is
  CHECK(&same == &ranks);
  CHECK(ranks.size() == 3);

  const std::vector<int> fixed = {0, 1, 2};
  const std::vector<int> taken = static_cast<const std::vector<int>&&>(fixed);
  CHECK(taken == fixed);  // const: copied, although it was cast

  auto owner = std::make_unique<int>(42);
  const std::unique_ptr<int> next = std::move(owner);
  CHECK(owner == nullptr);  // a promise of unique_ptr, not of every type
  CHECK(*next == 42);
}
