// Gloo's collectives and messages over processes: every count, type, operator and size, with
// different data on each rank, exact.
#include "engine/comm/gloo.hpp"

#include <cmath>
#include <limits>

#include "engine/base/random.hpp"
#include "engine/collectives/all_reduce_choice.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::expect;
using lockstep::test::failures;
using lockstep::test::Outcome;
using lockstep::test::RankGroup;

namespace {

// The same over TCP and in shared memory, one after the other.
std::vector<Outcome> run_gloo(int ranks, const RankGroup& body) {
  std::vector<Outcome> outcomes;
  if (test::also_over_tcp(ranks)) outcomes = lockstep::test::run_gloo(ranks, body);
  for (Outcome& outcome : lockstep::test::run_gloo(ranks, body, test::late_s, Transport::shm)) {
    outcome.message = "in shared memory: " + outcome.message;
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

const DType dtypes[] = {DType::float32, DType::float64, DType::int64};
const ReduceOp ops[] = {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max};

std::vector<std::int64_t> counts_for(int ranks) {
  return {0, 1, ranks - 1, ranks, ranks + 1, 13, 65537};
}

// Rank r's element i: small whole numbers, exact in every type, and a product of eight fits too.
double value_of(int rank, std::int64_t i) {
  return static_cast<double>((rank + 1) * 3 + i % 7) - 8.0;
}

double reduced(int ranks, std::int64_t i, ReduceOp op) {
  double result = value_of(0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = value_of(rank, i);
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::average:
        result += next;
        break;
      case ReduceOp::product:
        result *= next;
        break;
      case ReduceOp::min:
        result = std::min(result, next);
        break;
      case ReduceOp::max:
        result = std::max(result, next);
        break;
    }
  }
  return result;
}

Tensor values_of(int rank, std::int64_t count, DType dtype, Device& device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(value_of(rank, i));
  return from_values(values, {count}, dtype, device);
}

// Garbage that shows: NaN, or a number no test expects.
Tensor garbage(std::int64_t count, DType dtype, Device& device) {
  const double value = dtype == DType::int64 ? -777777 : std::numeric_limits<double>::quiet_NaN();
  return full({count}, value, dtype, device);
}

template <typename Expected>
void expect_all(const Tensor& data, const std::string& what, const Expected& expected) {
  for (std::int64_t i = 0; i < data.numel(); ++i) {
    if (data.item(i) != expected(i)) {
      throw Error(text(what, ": element ", i, " of ", data.numel(), " ", name_of(data.dtype()),
                       " is ", data.item(i), ", not ", expected(i)));
    }
  }
}

std::string check_all_reduce(ProcessGroup& group) {
  CpuDevice device;
  for (const DType dtype : dtypes) {
    for (const ReduceOp op : ops) {
      for (const std::int64_t count : counts_for(group.size())) {
        const Tensor data = values_of(group.rank(), count, dtype, device);
        group.all_reduce(data, op);
        expect_all(data, text("all_reduce ", name_of(op)),
                   [&](std::int64_t i) { return reduced(group.size(), i, op); });
      }
    }
  }
  return "";
}

// The types too narrow for value_of: sums of small numbers, which every type holds exactly.
std::string check_narrow_types(ProcessGroup& group) {
  CpuDevice device;
  const std::int64_t n = group.size(), count = 13;
  for (const DType dtype : all_dtypes) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<double>(group.rank() + i % 7));
    }
    const Tensor data = from_values(values, {count}, dtype, device);
    group.all_reduce(data, ReduceOp::sum);
    expect_all(data, "all_reduce of a narrow type",
               [&](std::int64_t i) { return static_cast<double>(n * (n - 1) / 2 + n * (i % 7)); });
    group.broadcast(data, 0);
    group.all_reduce(data, ReduceOp::max);
    expect_all(data, "max of one value",
               [&](std::int64_t i) { return static_cast<double>(n * (n - 1) / 2 + n * (i % 7)); });
  }
  return "";
}

// 10^rank in rank r's elements: the digits of the sum say how often each rank arrived.
std::string check_provenance(ProcessGroup& group) {
  CpuDevice device;
  const auto ranks = group.size();
  for (const std::int64_t count : counts_for(ranks)) {
    const Tensor data = full({count}, std::pow(10, group.rank()), DType::int64, device);
    group.all_reduce(data, ReduceOp::sum);
    const auto each_once =
        static_cast<double>((static_cast<std::int64_t>(std::pow(10, ranks)) - 1) / 9);
    expect_all(data, "each rank once", [&](std::int64_t) { return each_once; });
  }
  return "";
}

// Random float32 sums: rounding differs by order, but every rank must hold the same bits.
std::string check_same_bits(ProcessGroup& group) {
  CpuDevice device;
  for (const std::int64_t count : counts_for(group.size())) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(
          random_uniform(static_cast<std::uint64_t>(group.rank()), static_cast<std::uint64_t>(i)));
    }
    const Tensor data = from_values(values, {count}, DType::float32, device);
    if (count > 0 && group.rank() == 0) data.narrow(0, 1).fill_(std::nan(""));
    group.all_reduce(data, ReduceOp::sum);
    if (count > 0) expect(std::isnan(data.item(0)), "a NaN of one rank is lost");
    const Tensor all = garbage(count * group.size(), DType::float32, device);
    group.all_gather(data, all);
    for (int rank = 0; rank < group.size(); ++rank) {
      const auto theirs = all.narrow(rank * count, count).raw_bytes();
      expect(std::ranges::equal(theirs, data.raw_bytes()),
             text("rank ", rank, " holds other bits, count ", count));
    }
  }
  return "";
}

}  // namespace

TEST_CASE("gloo: all_reduce is exact for every type, operator, count and number of ranks") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  CHECK(failures(run_gloo(ranks, [](ProcessGroup& group) {
          return check_all_reduce(group) + check_narrow_types(group);
        })) == "");
}

TEST_CASE("gloo: each rank's value arrives exactly once, and all ranks hold the same bits") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  CHECK(failures(run_gloo(ranks, [](ProcessGroup& group) {
          return check_provenance(group) + check_same_bits(group);
        })) == "");
}

TEST_CASE("gloo: the ring part over messages equals the native all_reduce") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  CHECK(failures(run_gloo(ranks, [](ProcessGroup& group) {
          const auto strands = make_thread_strands();
          const auto ring =
              collectives::with_all_reduce(group, collectives::AllReduce::ring, *strands);
          return check_all_reduce(*ring) + check_narrow_types(*ring) + check_provenance(*ring) +
                 check_same_bits(*ring);
        })) == "");
}

TEST_CASE("gloo: every all-reduce part over messages equals the native all_reduce") {
  const int ranks = GENERATE(1, 2, 3, 4, 6, 8);
  const std::string name = GENERATE("naive", "tree", "halving-doubling", "hierarchical");
  CHECK(failures(run_gloo(ranks, [name](ProcessGroup& group) {
          const auto strands = make_thread_strands();
          const int each = group.size() % 2 == 0 ? 2 : 0;
          const auto chosen = collectives::with_all_reduce(
              group, collectives::all_reduce_named(name), *strands, each);
          return check_all_reduce(*chosen) + check_provenance(*chosen) + check_same_bits(*chosen);
        })) == "");
}

TEST_CASE(
    "all-reduce: hierarchical refuses nodes that are not full, and unknown names what is known") {
  CHECK(failures(run_gloo(3, [](ProcessGroup& group) -> std::string {
          const auto strands = make_thread_strands();
          try {
            collectives::with_all_reduce(group, collectives::AllReduce::hierarchical, *strands, 2);
          } catch (const UsageError& error) {
            return std::string(error.what()).find("3 ranks do not fill nodes of 2") ==
                           std::string::npos
                       ? error.what()
                       : "";
          }
          return "no error";
        })) == "");
  CHECK_THROWS_WITH(collectives::all_reduce_named("halving"),
                    lockstep::test::contains("halving-doubling"));
}

TEST_CASE("gloo: the ring part is also carried out beside the rank, in order") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  CHECK(failures(run_gloo(ranks, [](ProcessGroup& group) -> std::string {
          CpuDevice device;
          const auto strands = make_thread_strands();
          const auto ring =
              collectives::with_all_reduce(group, collectives::AllReduce::ring, *strands);
          const double n = group.size();
          std::vector<Tensor> data;
          std::vector<Work> works;
          for (const std::int64_t count : {70'000, 1, 13}) {
            data.push_back(full({count}, group.rank(), DType::int64, device));
            works.push_back(ring->all_reduce_async(data.back(), ReduceOp::sum));
          }
          const Tensor other = full({5}, group.rank(), DType::int64, device);
          ring->broadcast(other, group.size() - 1);
          ring->all_reduce(data.emplace_back(full({7}, group.rank(), DType::int64, device)),
                           ReduceOp::sum);
          for (std::size_t i = works.size(); i-- > 0;) works[i].wait();
          expect(other.item(4) == n - 1, "the broadcast came through");
          for (const Tensor& one : data) {
            for (const std::int64_t value : one.data<std::int64_t>()) {
              expect(static_cast<double>(value) == n * (n - 1) / 2, text("sum ", value));
            }
          }
          expect(works[0].ran_s().has_value(), "how long it ran is known");
          return "";
        })) == "");
}

TEST_CASE("gloo: broadcast and all_gather bring every element to its place, also a second time") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  CHECK(failures(run_gloo(ranks, [](ProcessGroup& group) -> std::string {
          CpuDevice device;
          for (const DType dtype : dtypes) {
            for (const std::int64_t count : counts_for(group.size())) {
              for (const int root : {0, group.size() - 1}) {
                const Tensor data = group.rank() == root ? values_of(root, count, dtype, device)
                                                         : garbage(count, dtype, device);
                group.broadcast(data, root);
                group.broadcast(data, root);
                expect_all(data, "broadcast", [&](std::int64_t i) { return value_of(root, i); });
              }
              const Tensor all = garbage(count * group.size(), dtype, device);
              group.all_gather(values_of(group.rank(), count, dtype, device), all);
              expect_all(all, "all_gather", [&](std::int64_t i) {
                return value_of(static_cast<int>(i / count), i % count);
              });
            }
          }
          return "";
        })) == "");
}

TEST_CASE("gloo: messages round a ring arrive in order, by tag, in both directions") {
  const int ranks = GENERATE(2, 3, 4, 5, 7, 8);
  CHECK(failures(run_gloo(ranks, [](ProcessGroup& group) -> std::string {
          CpuDevice device;
          const int right = (group.rank() + 1) % group.size();
          const int left = (group.rank() + group.size() - 1) % group.size();
          for (const std::int64_t count : counts_for(group.size())) {
            std::vector<Tensor> out, in;
            std::vector<Work> works;
            for (int k = 0; k < 6; ++k) {  // tags 0 1 0 1 …, to the right and to the left
              const int dst = k % 3 == 0 ? left : right;
              const int src = k % 3 == 0 ? right : left;
              out.push_back(full({count}, 100 * group.rank() + k, DType::int64, device));
              in.push_back(garbage(count, DType::int64, device));
              works.push_back(group.irecv(in.back(), src, k % 2));
              works.push_back(group.isend(out.back(), dst, k % 2));
            }
            for (Work& work : works) work.wait();
            for (int k = 0; k < 6; ++k) {
              const int src = k % 3 == 0 ? right : left;
              // At two ranks both neighbours are the same rank, so order alone decides.
              expect_all(in[static_cast<std::size_t>(k)], text("message ", k),
                         [&](std::int64_t) { return 100.0 * src + k; });
            }
          }
          const Tensor token = full({1}, group.rank(), DType::float32, device);
          if (group.rank() == 0) {
            group.send(token, right);
            group.recv(token, left);
            expect(token.item() == 0, "the token changed on its way");
          } else {
            group.recv(token, left);
            expect(token.item() == 0, "the token changed on its way");
            group.send(token, right);
          }
          return "";
        })) == "");
}

TEST_CASE("gloo: asynchronous collectives complete in order, mixed with blocking ones") {
  const int ranks = GENERATE(1, 2, 3, 5);
  CHECK(failures(run_gloo(ranks, [](ProcessGroup& group) -> std::string {
          CpuDevice device;
          std::vector<Tensor> data;
          std::vector<Work> works;
          for (int k = 0; k < 8; ++k) {
            data.push_back(full({100 + k}, group.rank() + k, DType::int64, device));
            works.push_back(group.all_reduce_async(data.back(), ReduceOp::sum));
          }
          const Tensor last = full({3}, 1, DType::int64, device);
          group.all_reduce(last, ReduceOp::sum);
          const int n = group.size();
          expect_all(last, "the blocking one", [&](std::int64_t) { return n; });
          for (Work& work : works) work.wait();
          for (int k = 0; k < 8; ++k) {
            expect_all(data[static_cast<std::size_t>(k)], text("number ", k),
                       [&](std::int64_t) { return n * (n - 1) / 2 + n * k; });
          }
          return "";
        })) == "");
}

TEST_CASE("gloo: split makes groups by color, ordered by key, that work side by side") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  CHECK(failures(run_gloo(ranks, [](ProcessGroup& group) -> std::string {
          CpuDevice device;
          const int me = group.rank();
          for (int again = 0; again < 2; ++again) {
            const auto half = group.split(me % 2, -me);  // reversed order
            const int expected_size = (group.size() + 1 - me % 2) / 2;
            expect(half->size() == expected_size, text("size ", half->size()));
            expect(half->rank() == expected_size - 1 - me / 2, text("rank ", half->rank()));
            const Tensor sum = full({5}, me, DType::int64, device);
            half->all_reduce(sum, ReduceOp::sum);
            double expected = 0;
            for (int r = me % 2; r < group.size(); r += 2) expected += r;
            expect_all(sum, "sum over one color", [&](std::int64_t) { return expected; });
          }
          const auto few = group.split(me == 0 ? 7 : ProcessGroup::no_color, 0);
          expect((few != nullptr) == (me == 0), "no_color takes no place");
          return "";
        })) == "");
}

TEST_CASE("gloo: traffic is exact for messages and modelled for collectives") {
  const int ranks = GENERATE(2, 3, 4, 8);
  CHECK(failures(run_gloo(ranks, [](ProcessGroup& group) -> std::string {
          CpuDevice device;
          const int n = group.size();
          const auto strands = make_thread_strands();
          const auto ring =
              collectives::with_all_reduce(group, collectives::AllReduce::ring, *strands);
          const std::int64_t count = 4 * n;
          ring->all_reduce(values_of(group.rank(), count, DType::float32, device), ReduceOp::sum);
          const Traffic exact = group.traffic();
          expect(!exact.modelled, "messages are counted, not modelled");
          expect(exact.bytes_sent == 2 * (n - 1) * 16, text(exact.bytes_sent, " bytes"));
          expect(exact.messages_sent == 2 * (n - 1), text(exact.messages_sent, " messages"));
          group.all_reduce(values_of(group.rank(), count, DType::float32, device), ReduceOp::sum);
          expect(group.traffic().modelled, "a native collective is modelled");
          expect(group.traffic().bytes_sent == 2 * exact.bytes_sent, "the same by formula");

          // All ranks together send a broadcast's payload n - 1 times.
          const auto before = group.traffic().bytes_sent;
          group.broadcast(values_of(0, 10, DType::float32, device), n - 1);
          const Tensor sent = full({1}, static_cast<double>(group.traffic().bytes_sent - before),
                                   DType::int64, device);
          group.all_reduce(sent, ReduceOp::sum);
          expect(sent.item() == 40 * (n - 1), text("broadcast sent ", sent.item(), " bytes"));
          return "";
        })) == "");
}
