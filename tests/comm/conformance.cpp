#include "tests/comm/conformance.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/base/bytes.hpp"
#include "engine/base/random.hpp"

namespace lockstep::test {

namespace {

using comm::ProcessGroup;
using comm::Work;
using Value = std::function<double(int rank, std::int64_t i)>;

// Tells rank and place apart, and every type holds it exactly.
double mark(int rank, std::int64_t i) { return static_cast<double>((rank * 37 + i * 11) % 101); }
// Eight of them add up to less than 128, and multiply to a power of two below that.
double term(int rank, std::int64_t i) { return static_cast<double>((rank * 5 + i * 3) % 11); }
double factor(int rank, std::int64_t i) { return (rank + i) % 3 == 0 ? 2 : 1; }

double step_of(DType dtype) {  // of numbers between 1 and 2
  switch (dtype) {
    case DType::float64:
      return std::ldexp(1, -52);
    case DType::float32:
      return std::ldexp(1, -23);
    case DType::float16:
      return std::ldexp(1, -10);
    default:
      return std::ldexp(1, -7);  // bfloat16
  }
}

// One setting of the suite, and what its checks need.
struct Setting {
  ProcessGroup& group;
  Device& device;
  DType dtype;
  std::int64_t n;
  bool later;  // by the asynchronous form

  int rank() const { return group.rank(); }
  int size() const { return group.size(); }

  Tensor fill(std::int64_t count, const Value& value, int of_rank) const {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(value(of_rank, i));
    return from_values(values, {count}, dtype, device);
  }
  Tensor mine(const Value& value, std::int64_t count) const { return fill(count, value, rank()); }

  // Garbage that shows.
  Tensor room(std::int64_t count) const {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return full({count}, is_integer(dtype) ? 123 : nan, dtype, device);
  }

  template <typename Blocking, typename Asynchronous>
  void call(const Blocking& blocking, const Asynchronous& asynchronous) const {
    if (!later) return blocking();
    Work work = asynchronous();
    work.wait();
  }

  // NaN is never near anything.
  void expect(const Tensor& data, const std::string& what,
              const std::function<double(std::int64_t)>& expected, double tolerance = 0) const {
    const Tensor here = to_host(data);
    for (std::int64_t i = 0; i < here.numel(); ++i) {
      const double seen = here.item(i), wanted = expected(i);
      if (seen == wanted || std::fabs(seen - wanted) <= tolerance * std::fabs(wanted)) continue;
      throw Error(text(what, later ? " (asynchronous)" : "", " of ", n, " ", name_of(dtype),
                       " among ", size(), ": rank ", rank(), " has ", seen, " at element ", i,
                       ", not ", wanted));
    }
  }
};

const Value& values_for(ReduceOp op) {
  static const Value terms = term, factors = factor, marks = mark;
  if (op == ReduceOp::product) return factors;
  return op == ReduceOp::min || op == ReduceOp::max ? marks : terms;
}

double reduced(ReduceOp op, int ranks, std::int64_t i) {
  const Value& value = values_for(op);
  double result = value(0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = value(rank, i);
    if (op == ReduceOp::product) result *= next;
    if (op == ReduceOp::sum || op == ReduceOp::average) result += next;
    if (op == ReduceOp::min) result = std::min(result, next);
    if (op == ReduceOp::max) result = std::max(result, next);
  }
  return op == ReduceOp::average ? result / ranks : result;
}

void check_reductions(const Setting& s, ReduceOp op, int root) {
  if (op == ReduceOp::average && is_integer(s.dtype)) return;
  // An average rounds each operand once when it is scaled, and each sum once.
  const double tolerance = op == ReduceOp::average ? s.size() * step_of(s.dtype) : 0;
  const std::string name = text(" (", name_of(op), ")");
  const Value& value = values_for(op);
  const auto whole = [&](std::int64_t i) { return reduced(op, s.size(), i); };

  const Tensor all = s.mine(value, s.n);
  s.call([&] { s.group.all_reduce(all, op); }, [&] { return s.group.all_reduce_async(all, op); });
  s.expect(all, "all_reduce" + name, whole, tolerance);

  const Tensor one = s.mine(value, s.n);
  s.call([&] { s.group.reduce(one, root, op); },
         [&] { return s.group.reduce_async(one, root, op); });
  if (s.rank() == root) {
    s.expect(one, "reduce" + name, whole, tolerance);
  } else {
    s.expect(one, "what reduce leaves", [&](std::int64_t i) { return value(s.rank(), i); });
  }

  const Tensor large = s.mine(value, s.size() * s.n), part = s.room(s.n);
  s.call([&] { s.group.reduce_scatter(large, part, op); },
         [&] { return s.group.reduce_scatter_async(large, part, op); });
  const auto mine = [&](std::int64_t i) { return whole(s.rank() * s.n + i); };
  s.expect(part, "reduce_scatter" + name, mine, tolerance);
  s.expect(large, "reduce_scatter's input", [&](std::int64_t i) { return value(s.rank(), i); });
  if (s.n == 0) return;
  const Tensor own = large.narrow(s.rank() * s.n, s.n);
  s.group.reduce_scatter(large, own, op);
  s.expect(own, "reduce_scatter in place" + name, mine, tolerance);
}

void check_rooted_moves(const Setting& s, int root) {
  const Tensor data = s.rank() == root ? s.mine(mark, s.n) : s.room(s.n);
  s.call([&] { s.group.broadcast(data, root); },
         [&] { return s.group.broadcast_async(data, root); });
  s.expect(data, "broadcast", [&](std::int64_t i) { return mark(root, i); });

  const bool at_root = s.rank() == root;
  const Tensor mine = s.mine(mark, s.n);
  const Tensor all = at_root ? s.room(s.size() * s.n) : Tensor();
  s.call([&] { s.group.gather(mine, all, root); },
         [&] { return s.group.gather_async(mine, all, root); });
  const auto of_all = [&](std::int64_t i) { return mark(static_cast<int>(i / s.n), i % s.n); };
  if (at_root) s.expect(all, "gather", of_all);

  const Tensor whole = at_root ? s.mine(mark, s.size() * s.n) : Tensor();
  const Tensor part = s.room(s.n);
  s.call([&] { s.group.scatter(whole, part, root); },
         [&] { return s.group.scatter_async(whole, part, root); });
  s.expect(part, "scatter", [&](std::int64_t i) { return mark(root, s.rank() * s.n + i); });
}

// Parts of unequal size: rank r gives n + r elements, and none where r is 2.
std::int64_t uneven(std::int64_t n, int rank) { return rank == 2 ? 0 : n + rank; }

void check_gathers(const Setting& s) {
  const Tensor all = s.room(s.size() * s.n);
  const Tensor mine = s.mine(mark, s.n);
  s.call([&] { s.group.all_gather(mine, all); },
         [&] { return s.group.all_gather_async(mine, all); });
  const auto of_all = [&](std::int64_t i) { return mark(static_cast<int>(i / s.n), i % s.n); };
  s.expect(all, "all_gather", of_all);
  if (s.n > 0) {
    const Tensor again = s.room(s.size() * s.n);
    const Tensor place = again.narrow(s.rank() * s.n, s.n);
    place.copy_(mine);
    s.group.all_gather(place, again);
    s.expect(again, "all_gather in place", of_all);
  }

  std::vector<std::int64_t> counts;
  std::vector<double> expected;
  for (int r = 0; r < s.size(); ++r) {
    counts.push_back(uneven(s.n, r));
    for (std::int64_t i = 0; i < counts.back(); ++i) expected.push_back(mark(r, i));
  }
  const Tensor uneven_all = s.room(std::ssize(expected));
  const Tensor uneven_mine = s.mine(mark, uneven(s.n, s.rank()));
  s.call([&] { s.group.all_gather(uneven_mine, uneven_all, counts); },
         [&] { return s.group.all_gather_async(uneven_mine, uneven_all, counts); });
  s.expect(uneven_all, "all_gather of unequal parts",
           [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; });
}

// What rank `src` sends to `dst` in the exchange of unequal parts.
std::int64_t sent(std::int64_t n, int src, int dst) {
  return (src + 2 * dst) % 3 == 0 ? 0 : n + dst;
}

void check_exchanges(const Setting& s) {
  const Tensor in = s.mine(mark, s.size() * s.n), out = s.room(s.size() * s.n);
  s.call([&] { s.group.all_to_all(in, out); }, [&] { return s.group.all_to_all_async(in, out); });
  s.expect(out, "all_to_all", [&](std::int64_t i) {
    return mark(static_cast<int>(i / s.n), s.rank() * s.n + i % s.n);
  });

  std::vector<std::int64_t> to, from;
  std::vector<double> expected;
  std::int64_t total = 0;
  for (int peer = 0; peer < s.size(); ++peer) {
    to.push_back(sent(s.n, s.rank(), peer));
    from.push_back(sent(s.n, peer, s.rank()));
    total += to.back();
    std::int64_t start = 0;  // of my part in what the peer sends
    for (int dst = 0; dst < s.rank(); ++dst) start += sent(s.n, peer, dst);
    for (std::int64_t i = 0; i < from.back(); ++i) expected.push_back(mark(peer, start + i));
  }
  const Tensor uneven_in = s.mine(mark, total), uneven_out = s.room(std::ssize(expected));
  s.call([&] { s.group.all_to_all(uneven_in, uneven_out, to, from); },
         [&] { return s.group.all_to_all_async(uneven_in, uneven_out, to, from); });
  s.expect(uneven_out, "all_to_all of unequal parts",
           [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; });
}

void check_message_round(const Setting& s) {
  const int right = (s.rank() + 1) % s.size(), left = (s.rank() + s.size() - 1) % s.size();
  std::vector<Tensor> in;
  std::vector<Work> works;
  for (int k = 0; k < 4; ++k) {  // tags 0 1 0 1: each tag is a line of its own
    in.push_back(s.room(s.n));
    works.push_back(s.group.irecv(in.back(), left, k % 2));
  }
  std::vector<Tensor> out;
  for (int k = 0; k < 4; ++k) {
    out.push_back(s.fill(s.n, mark, s.rank() + 10 * k));
    works.push_back(s.group.isend(out.back(), right, k % 2));
  }
  for (Work& work : works) work.wait();
  for (int k = 0; k < 4; ++k) {
    s.expect(in[static_cast<std::size_t>(k)], text("message ", k),
             [&](std::int64_t i) { return mark(left + 10 * k, i); });
  }
}

double sum_over(int first, int stride, int end) {
  double sum = 0;
  for (int r = first; r < end; r += stride) sum += r + 1;
  return sum;
}

}  // namespace

std::vector<std::int64_t> usual_counts(int ranks) {
  std::vector<std::int64_t> counts{0, 1, ranks - 1, ranks, ranks + 1, 127};
  std::ranges::sort(counts);
  counts.erase(std::ranges::unique(counts).begin(), counts.end());
  return counts;
}

void check_collectives(ProcessGroup& group, Device& device, std::span<const DType> dtypes,
                       std::span<const std::int64_t> counts) {
  std::vector<int> roots{0, 1, group.size() - 1};
  roots.erase(std::ranges::unique(roots).begin(), roots.end());
  std::erase_if(roots, [&](int root) { return root >= group.size(); });
  bool later = false;
  for (const DType dtype : dtypes) {
    for (const std::int64_t n : counts) {
      const Setting s{group, device, dtype, n, later};
      for (const int root : roots) check_rooted_moves(s, root);
      for (const ReduceOp op : all_reduce_ops) {
        check_reductions(s, op, roots[static_cast<std::size_t>(op) % roots.size()]);
      }
      check_gathers(s);
      check_exchanges(s);
      later = !later;
    }
    later = !later;  // so that each count comes in both forms
  }
  group.barrier();
  group.barrier_async().wait();
  group.monitored_barrier(20);
}

void check_messages_and_splits(ProcessGroup& group, Device& device) {
  const int n = group.size(), me = group.rank();
  if (n > 1) {
    for (const DType dtype : all_dtypes) {
      for (const std::int64_t count : usual_counts(n)) {
        check_message_round({group, device, dtype, count, false});
      }
    }
  }
  const auto half = group.split(me % 2, -me);  // in the opposite order
  const Setting s{*half, device, DType::int64, 5, false};
  const Tensor in_half = full({5}, me + 1, DType::int64, device);
  const Tensor in_all = full({7}, me + 1, DType::int64, device);
  Work later = group.all_reduce_async(in_all, ReduceOp::sum);
  half->all_reduce(in_half, ReduceOp::sum);
  later.wait();
  s.expect(in_half, "a sum over half the ranks",
           [&](std::int64_t) { return sum_over(me % 2, 2, n); });
  s.expect(in_all, "a sum beside it", [&](std::int64_t) { return sum_over(0, 1, n); });
  const Tensor first = full({1}, me, DType::int64, device);
  half->broadcast(first, 0);
  const int highest = (n - 1) % 2 == me % 2 ? n - 1 : n - 2;
  s.expect(first, "the first of a reversed half", [&](std::int64_t) { return highest; });
  if (group.split(me == 0 ? 3 : ProcessGroup::no_color, 0) != nullptr && me != 0) {
    throw Error("no_color took a place");
  }
}

void check_large(ProcessGroup& group, Device& device, std::int64_t elements) {
  const Setting s{group, device, DType::float32, elements, false};
  check_rooted_moves(s, group.size() - 1);
  check_reductions(s, ReduceOp::sum, 0);
  const std::int64_t part = s.n / group.size() + 1;  // all parts together are again about as many
  const Setting parts{group, device, DType::int64, part, true};
  check_gathers(parts);
  check_exchanges(parts);
}

std::uint64_t bits_of_sums(ProcessGroup& group, Device& device) {
  ByteWriter bits;
  for (const std::int64_t count : {1, 1009, 70001}) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(
          random_uniform(static_cast<std::uint64_t>(group.rank()), static_cast<std::uint64_t>(i)));
    }
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      const Tensor data = from_values(values, {count}, dtype, device);
      group.all_reduce(data, ReduceOp::sum);
      bits.put_bytes(to_host(data).raw_bytes());
    }
  }
  return checksum_of(bits.bytes());
}

}  // namespace lockstep::test
