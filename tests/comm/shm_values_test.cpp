// Collectives in shared memory, bit for bit: every kind, type, operator, count, number of ranks and
// place of the tensors. The expected bits are those of reduce_elements over the ranks in order.
#include <cstring>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"
#include "tests/comm/shm_ranks.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::expect;
using lockstep::test::failures;
using lockstep::test::run_shm;
using lockstep::test::run_shm_threads;

namespace {

// Where a rank's tensors are: its own, the group's, or the group's on every second rank.
enum class Memory { ordinary, own, mixed };
constexpr Memory memories[] = {Memory::ordinary, Memory::own, Memory::mixed};

struct Case {
  ProcessGroup& group;
  Memory memory;
  DType dtype;
  std::int64_t count;  // of a rank
  int root = 0;
  CpuDevice device{};

  int n() const { return group.size(); }
  int me() const { return group.rank(); }

  Tensor room(std::int64_t elements) {
    const bool own = memory == Memory::own || (memory == Memory::mixed && me() % 2 == 0);
    const Tensor made =
        own ? group.allocate_buffer(elements, dtype, device) : empty({elements}, dtype, device);
    if (elements > 0) std::memset(made.raw_bytes().data(), 0x5A, made.bytes());
    return made;
  }
  // What rank `rank` brings: numbers with fractions where the type has them.
  Tensor brought(int rank, std::int64_t elements) {
    const Tensor made = empty({elements}, dtype, device);
    visit_dtype(dtype, [&]<typename T>() {
      std::int64_t i = 0;
      for (T& element : made.data<T>()) {
        const auto bits =
            random_bits(static_cast<std::uint64_t>(rank) + 17, static_cast<std::uint64_t>(i++));
        element = static_cast<T>(static_cast<float>(bits % 251) * 0.37F - 30.0F);
      }
    });
    return made;
  }
  Tensor mine(std::int64_t elements) {
    const Tensor made = room(elements);
    made.copy_(brought(me(), elements));
    return made;
  }
  Tensor reduced(std::int64_t elements, ReduceOp op) {
    Tensor sum;
    for (int rank = 0; rank < n(); ++rank) {
      const Tensor next = brought(rank, elements);
      if (op == ReduceOp::average) next.scale_(1.0 / n());
      if (rank == 0) {
        sum = next;
      } else {
        sum.reduce_(next, op);
      }
    }
    return sum;
  }

  void check(const char* what, const Tensor& seen, const Tensor& wanted) {
    if (std::ranges::equal(seen.raw_bytes(), wanted.raw_bytes())) return;
    std::int64_t i = 0;
    while (i < seen.numel() && seen.item(i) == wanted.item(i)) ++i;
    throw Error(text(what, " of ", count, " ", name_of(dtype), " among ", n(), ", memory ",
                     static_cast<int>(memory), ": element ", i, " of ", seen.numel(), " is ",
                     i < seen.numel() ? seen.item(i) : 0, ", not ",
                     i < seen.numel() ? wanted.item(i) : 0));
  }

  void all_reduce(ReduceOp op) {
    const Tensor all = mine(count);
    group.all_reduce(all, op);
    check("all_reduce", all, reduced(count, op));
  }

  void all_reduce_scaled(double factor) {
    const Tensor all = mine(count);
    group.all_reduce_scaled(all, factor);
    const Tensor wanted = reduced(count, ReduceOp::sum);
    if (factor != 1) wanted.scale_(factor);
    check("all_reduce_scaled", all, wanted);
  }

  void reductions(ReduceOp op) {
    all_reduce(op);
    const Tensor wanted = reduced(count, op);
    const Tensor rooted = mine(count);
    group.reduce(rooted, root, op);
    check("reduce", rooted, me() == root ? wanted : brought(me(), count));

    const Tensor whole = mine(count * n());
    const Tensor before = whole.clone();
    const Tensor part = room(count);
    group.reduce_scatter(whole, part, op);
    const Tensor parts = reduced(count * n(), op);
    check("reduce_scatter", part, parts.narrow(me() * count, count));
    check("reduce_scatter's input", whole, before);
    group.reduce_scatter(whole, whole.narrow(me() * count, count), op);
    check("reduce_scatter in place", whole.narrow(me() * count, count),
          parts.narrow(me() * count, count));
  }

  void movements() {
    const Tensor data = me() == root ? mine(count) : room(count);
    group.broadcast(data, root);
    check("broadcast", data, brought(root, count));

    const Tensor whole = empty({count * n()}, dtype, device);
    for (int r = 0; r < n(); ++r) whole.narrow(r * count, count).copy_(brought(r, count));
    const Tensor own = mine(count);
    const Tensor all = room(count * n());
    group.all_gather(own, all);
    check("all_gather", all, whole);
    const Tensor in_place = room(count * n());
    in_place.narrow(me() * count, count).copy_(own);
    group.all_gather(in_place.narrow(me() * count, count), in_place);
    check("all_gather in place", in_place, whole);

    const Tensor gathered = me() == root ? room(count * n()) : Tensor();
    group.gather(own, gathered, root);
    if (me() == root) check("gather", gathered, whole);

    const Tensor spread = me() == root ? mine(count * n()) : Tensor();
    const Tensor part = room(count);
    group.scatter(spread, part, root);
    check("scatter", part, brought(root, count * n()).narrow(me() * count, count));

    const Tensor in = mine(count * n());
    const Tensor out = room(count * n());
    group.all_to_all(in, out);
    for (int r = 0; r < n(); ++r) {
      check("all_to_all", out.narrow(r * count, count),
            brought(r, count * n()).narrow(me() * count, count));
    }
  }

  // Rank i brings i·count + i % 3 elements to an all_gather; i sends (i + j)·count to j.
  void unequal() {
    std::vector<std::int64_t> counts, in_counts, out_counts;
    for (int r = 0; r < n(); ++r) counts.push_back(r * count + r % 3);
    std::int64_t total = 0;
    for (const std::int64_t each : counts) total += each;
    const auto own = counts[static_cast<std::size_t>(me())];
    const Tensor all = room(total);
    group.all_gather(mine(own), all, counts);
    std::int64_t start = 0;
    for (int r = 0; r < n(); ++r) {
      const auto length = counts[static_cast<std::size_t>(r)];
      check("unequal all_gather", all.narrow(start, length), brought(r, length));
      start += length;
    }

    const auto to = [&](int i, int j) { return (i + j) % 3 * count + (i == j ? 1 : 0); };
    const auto sum_to = [&](int i, int before) {
      std::int64_t sum = 0;
      for (int j = 0; j < before; ++j) sum += to(i, j);
      return sum;
    };
    for (int r = 0; r < n(); ++r) {
      in_counts.push_back(to(me(), r));
      out_counts.push_back(to(r, me()));
    }
    const Tensor out = room(sum_to(me(), n()));
    group.all_to_all(mine(sum_to(me(), n())), out, in_counts, out_counts);
    for (int r = 0; r < n(); ++r) {
      check("unequal all_to_all", out.narrow(sum_to(me(), r), to(r, me())),
            brought(r, sum_to(r, n())).narrow(sum_to(r, me()), to(r, me())));
    }
  }
};

bool makes_sense(ReduceOp op, DType dtype) { return op != ReduceOp::average || !is_integer(dtype); }

std::string check_all(ProcessGroup& group, std::initializer_list<std::int64_t> counts) {
  for (const Memory memory : memories) {
    for (const std::int64_t count : counts) {
      for (const DType dtype : all_dtypes) {
        Case now{group, memory, dtype, count, static_cast<int>(count) % group.size()};
        for (const ReduceOp op : all_reduce_ops) {
          if (makes_sense(op, dtype)) now.reductions(op);
        }
        now.movements();
        now.unequal();
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("shm: every collective has the right bits for every type, operator and place") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  CHECK(failures(run_shm_threads(ranks, [&](ProcessGroup& group) {
          return check_all(group, {0, 1, ranks - 1, 13});
        })) == "");
}

TEST_CASE("shm: data larger than the slots go through piece by piece") {
  const int ranks = GENERATE(2, 3, 4, 5, 7, 8);
  CHECK(failures(run_shm_threads(ranks, [&](ProcessGroup& group) -> std::string {
          // Just more than inlined, then several pieces, not divisible.
          for (const Memory memory : memories) {
            for (const std::int64_t count : {8200, 40009}) {
              Case now{group, memory, DType::float32, count, static_cast<int>(count) % ranks};
              now.reductions(ReduceOp::sum);
              now.movements();
              if (count == 8200) now.unequal();
            }
            for (const DType dtype : {DType::float32, DType::bfloat16}) {
              Case{group, memory, dtype, 300007}.all_reduce(ReduceOp::sum);
            }
          }
          return "";
        })) == "");
}

TEST_CASE("shm: an average has the bits of tensors that were scaled by 1/N and then summed") {
  const int ranks = GENERATE(2, 3, 4, 5, 6, 7, 8, 13);
  CHECK(failures(run_shm_threads(ranks, [&](ProcessGroup& group) -> std::string {
          CpuDevice host;
          test::expect(group.averaging(host) == Averaging::within, "the tensors are scaled before");
          for (const Memory memory : memories) {
            for (const DType dtype : all_dtypes) {
              if (is_integer(dtype)) continue;
              for (const std::int64_t count : {0, 1, 13, 8201}) {
                const int root = static_cast<int>(count) % ranks;
                Case{group, memory, dtype, count, root}.reductions(ReduceOp::average);
              }
            }
            Case{group, memory, DType::float16, 300007}.all_reduce(ReduceOp::average);
          }
          return "";
        })) == "");
}

TEST_CASE("shm: a scaled sum has the bits of a sum that was then multiplied") {
  const int ranks = GENERATE(2, 3, 4, 5, 7, 8, 13);
  CHECK(failures(run_shm_threads(ranks, [&](ProcessGroup& group) -> std::string {
          for (const Memory memory : memories) {
            for (const DType dtype : all_dtypes) {
              for (const std::int64_t count : {0, 1, 13, 8201}) {
                Case now{group, memory, dtype, count};
                now.all_reduce_scaled(1);
                if (!is_integer(dtype)) now.all_reduce_scaled(1.0 / ranks);
              }
            }
            Case{group, memory, DType::float16, 300007}.all_reduce_scaled(0.3);
          }
          return "";
        })) == "");
}

TEST_CASE("shm: processes reduce and move as threads do") {
  const int ranks = GENERATE(2, 4, 5);
  CHECK(failures(run_shm(ranks, [&](ProcessGroup& group) -> std::string {
          check_all(group, {0, 13});
          for (const Memory memory : memories) {
            Case now{group, memory, DType::float32, 65537, 1};
            now.reductions(ReduceOp::sum);
            now.movements();
          }
          return "";
        })) == "");
}
