// The exam of device_mesh: a mesh has one right form, which the judge finds by counting. A rank's
// place is the number of the rank in digits, one for each axis, and the fastest axis is the digit
// that changes with every rank. A wrong mesh is told by the known mistake that gives it, or by the
// first rank or group that differs.
#include <algorithm>
#include <climits>

#include "grader/exam/function/axis_words.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/parts/16_hybrid_parallel/device_mesh/case.hpp"

namespace lockstep::grader::device_mesh {

namespace {

using mesh::Axis;
using mesh::AxisOrder;
using mesh::AxisSizes;
using mesh::Coordinates;
using mesh::Groups;
using mesh::Mesh;
using mesh::usual_order;
using Question = MeshQuestion;

// The place of the rank behind the one at this place.
Coordinates next_place(Coordinates at, const Question& q) {
  for (const Axis axis : q.order) {
    if (++at[axis] < q.sizes[axis]) break;
    at[axis] = 0;
  }
  return at;
}

Mesh right_mesh(const Question& q) {
  Mesh mesh{q.sizes, {Coordinates{}}, {}};
  while (std::ssize(mesh.coordinates) < q.world) {
    mesh.coordinates.push_back(next_place(mesh.coordinates.back(), q));
  }
  int step = 1;  // from a rank to the next one on the axis
  for (const Axis axis : q.order) {
    Groups& groups = mesh.groups[static_cast<std::size_t>(axis)];
    std::vector<std::size_t> group_of;  // each rank's
    for (int rank = 0; rank < q.world; ++rank) {
      const bool opens = mesh.coordinates[static_cast<std::size_t>(rank)][axis] == 0;
      group_of.push_back(opens ? groups.size() : group_of[static_cast<std::size_t>(rank - step)]);
      if (opens) groups.emplace_back();
      groups[group_of.back()].push_back(rank);
    }
    step *= q.sizes[axis];
  }
  return mesh;
}

std::string text_of(const Question& q) {
  std::string words = text(counted(q.world, "rank"), " with ", words_of(q.sizes));
  if (q.order == usual_order) return words;
  words += ", from fast to slow ";
  std::string comma;
  for (const Axis axis : q.order) {
    words += text(comma, name_of(axis));
    comma = ", ";
  }
  return words;
}

// True if the sizes are at least 1 and their product is the world, of whatever size the product is.
bool makes_the_world(const Question& q) {
  std::int64_t rest = q.world;
  for (const Axis axis : usual_order) {
    if (q.sizes[axis] < 1 || rest < 1 || rest % q.sizes[axis] != 0) return false;
    rest /= q.sizes[axis];
  }
  return rest == 1;
}

bool valid(const Question& q) {
  return makes_the_world(q) && std::ranges::is_permutation(q.order, usual_order);
}

// A mesh that differs: the place, in words, and the cause where no known mistake gives it.
struct Fault {
  std::string message, expected, seen;
  Cause cause;
};

Cause cause_of_places(const Mesh& seen, const Mesh& right) {
  for (const Axis one : usual_order) {
    for (const Axis other : usual_order) {
      std::vector<Coordinates> exchanged = right.coordinates;
      for (Coordinates& at : exchanged) std::swap(at[one], at[other]);
      if (seen.coordinates != exchanged) continue;
      return {"axes_exchanged", text("the places along ", mesh::name_of(one), " and ",
                                     mesh::name_of(other), " are exchanged")};
    }
  }
  bool from_behind = true;
  for (std::size_t rank = 0; rank < right.coordinates.size(); ++rank) {
    for (const Axis axis : usual_order) {
      const int place = seen.coordinates[rank][axis], size = right.sizes[axis];
      if (place < 0 || place >= size) {
        return {"beyond_the_axis",
                text("along ", mesh::name_of(axis), ", rank ", rank, " has place ", place,
                     ", and places go from 0 to ", size - 1,
                     ": the quotient of rank and stride starts again at 0")};
      }
      from_behind = from_behind && place == size - 1 - right.coordinates[rank][axis];
    }
  }
  if (from_behind) return {"from_behind", "places are counted from the last one of each axis"};
  return {"other_place",
          "count the ranks in digits, one for each axis: the first axis of the order changes with "
          "every rank, and the next one when that one starts again at 0"};
}

std::optional<Fault> fault_of_places(const Mesh& seen, const Mesh& right) {
  if (seen.sizes != right.sizes) {
    return Fault{"the sizes of the mesh are not those that were given",
                 words_of(right.sizes),
                 words_of(seen.sizes),
                 {"other_sizes", "the mesh keeps the sizes that it was made of"}};
  }
  if (seen.coordinates.size() != right.coordinates.size()) {
    return Fault{text("the mesh has places for ", counted(std::ssize(seen.coordinates), "rank"),
                      ", but there are ", right.coordinates.size()),
                 {},
                 {},
                 {"other_places", "every rank of the world has a place, in the order of ranks"}};
  }
  if (seen.coordinates == right.coordinates) return std::nullopt;
  const auto [is, should_be] = std::ranges::mismatch(seen.coordinates, right.coordinates);
  return Fault{text("rank ", is - seen.coordinates.begin(), " is not at its place"),
               words_of(*should_be), words_of(*is), cause_of_places(seen, right)};
}

// The first rank that is in no group of an axis, or in two, or does not exist.
std::optional<Fault> fault_of_cover(const std::string& axis, const Groups& seen,
                                    std::size_t world) {
  std::vector<int> times(world, 0);
  for (std::size_t g = 0; g < seen.size(); ++g) {
    for (const int rank : seen[g]) {
      const std::string where = text("rank ", rank, " in group ", g, " of ", axis);
      if (rank < 0 || static_cast<std::size_t>(rank) >= world) {
        return Fault{text(where, " does not exist"),
                     {},
                     listed(seen[g]),
                     {"no_such_rank", text("there are ", counted(std::ssize(times), "rank"),
                                           ", and they count from 0")}};
      }
      if (++times[static_cast<std::size_t>(rank)] < 2) continue;
      return Fault{
          text(where, " was in a group of ", axis, " before"),
          {},
          listed(seen[g]),
          {"in_two_groups",
           "on each axis, a rank is in one group: neighbours in it are as far apart as the "
           "product of the sizes of all faster axes"}};
    }
  }
  const auto missing = std::ranges::find(times, 0);
  if (missing == times.end()) return std::nullopt;
  return Fault{text("rank ", missing - times.begin(), " is in no group of ", axis),
               {},
               {},
               {"in_no_group",
                "on each axis, every rank is in a group; on an axis of size 1 it is alone there"}};
}

Groups sorted(Groups groups) {
  for (std::vector<int>& group : groups) std::ranges::sort(group);
  std::ranges::sort(groups);
  return groups;
}

std::optional<Fault> fault_of_groups(Axis axis, const Mesh& seen, const Mesh& right) {
  const Groups &is = seen.along(axis), &should_be = right.along(axis);
  const std::string name(name_of(axis));
  if (is == should_be) return std::nullopt;
  if (auto fault = fault_of_cover(name, is, right.coordinates.size())) return fault;
  std::size_t g = 0;
  while (g < std::min(is.size(), should_be.size()) && is[g] == should_be[g]) ++g;
  const auto shown = [&](const Groups& groups) {
    return g < groups.size() ? listed(groups[g]) : std::string("no such group");
  };
  Fault fault{text("group ", g, " of ", name, " is another one"), shown(should_be), shown(is), {}};
  fault.cause = {"other_group",
                 text("the ranks of a group of ", name, " differ in their places on ", name,
                      ", and on no other axis")};
  if (sorted(is) == should_be) {
    fault.message = text("the groups of ", name, " are right, but stand in another order");
    fault.cause = {"other_order",
                   "a group lists its ranks by their place on the axis, and an axis its groups by "
                   "their first rank"};
  }
  return fault;
}

std::optional<Failure> wrong(std::span<const Question> asked, const Mesh& seen) {
  const Mesh right = right_mesh(asked.back());
  if (seen == right) return std::nullopt;
  std::optional<Fault> fault = fault_of_places(seen, right);
  for (const Axis axis : asked.back().order) {
    if (!fault) fault = fault_of_groups(axis, seen, right);
  }
  return because(fault->cause,
                 {.message = fault->message, .expected = fault->expected, .seen = fault->seen});
}

Question mesh_of(const AxisSizes& sizes, const AxisOrder& order = usual_order) {
  return {sizes.tp * sizes.cp * sizes.ep * sizes.dp * sizes.pp, sizes, order};
}

// With an axis that is half as long, or shorter by one, or in the usual order.
std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  const auto offer = [&](Axis axis, int size) {
    AxisSizes sizes = q.sizes;
    sizes[axis] = size;
    offered.push_back(mesh_of(sizes, q.order));
  };
  for (const Axis axis : usual_order) {
    if (q.sizes[axis] > 1) offer(axis, 1);
    if (q.sizes[axis] > 3) offer(axis, q.sizes[axis] / 2);
    if (q.sizes[axis] > 2) offer(axis, q.sizes[axis] - 1);
  }
  if (q.order != usual_order) offered.push_back(mesh_of(q.sizes));
  return offered;
}

// The product of the sizes is not the world: by one rank, by a factor, or by bits that a number of
// 32 or 64 bits does not hold (2³² + 4 and 2⁶⁴ + 4 ranks). Or the order names an axis twice.
std::vector<Question> nonsense() {
  constexpr AxisOrder twice{Axis::tp, Axis::cp, Axis::tp, Axis::dp, Axis::pp};
  constexpr AxisOrder last_twice{Axis::pp, Axis::dp, Axis::ep, Axis::cp, Axis::cp};
  return {{16, {.tp = 2, .dp = 2, .pp = 2}},
          {9, {.tp = 2, .dp = 2, .pp = 2}},
          {7, {.tp = 2, .dp = 2, .pp = 2}},
          {10, {.tp = 4, .pp = 2}},
          {4, {.tp = 8}},
          {1, {.pp = 2}},
          {0, {}},
          {0, {.tp = 0}},
          {4, {.tp = 4, .ep = 0}},
          {4, {.dp = -2, .pp = -2}},
          {4, {.tp = 1321, .cp = 2501, .dp = 1300}},
          {4, {.tp = 384'773, .cp = 49'477, .ep = 8681, .dp = 5581, .pp = 20}},
          {0, {.tp = 1 << 16, .pp = 1 << 16}},
          {2, {.tp = 2}, twice},
          {1, {}, last_twice}};
}

// The worlds here would be made of more memory than there is.
std::vector<Question> far_out() {
  return {{-1, {}}, {INT_MIN, {}}, {INT_MAX, {.tp = 2}}, {4, {.tp = INT_MIN, .cp = INT_MIN}}};
}

FunctionContract<Question, Mesh> usual_contract() {
  return {.text_of = [](const Question& q) { return text_of(q); },
          .wrong = wrong,
          .is_right = [](const Question& q, const Mesh& seen) { return seen == right_mesh(q); },
          .refusals = {{.valid = valid,
                        .accepts = {"accepts_nonsense",
                                    "the product of the sizes is the number of ranks, also where "
                                    "64 bits do not hold it; each size is at least 1, and the "
                                    "order names each axis once"}}},
          .smaller = smaller,
          .sizes = [](const Question& q) -> Sizes {
            return {q.world, {q.sizes.tp, q.sizes.cp, q.sizes.ep, q.sizes.dp, q.sizes.pp}};
          },
          .least_count = 1};
}

AxisSizes drawn_sizes(CaseRunner& runner) {
  AxisSizes sizes;
  for (const Axis axis : usual_order) sizes[axis] = static_cast<int>(runner.draw_between(1, 4));
  return sizes;
}

std::vector<Question> drawn_meshes(CaseRunner& runner) {
  std::vector<Question> questions{mesh_of({.tp = 2, .cp = 3, .ep = 4, .dp = 5, .pp = 2})};
  for (int k = 0; k < 20; ++k) questions.push_back(mesh_of(drawn_sizes(runner)));
  return questions;
}

// Each axis is the fastest, and each the slowest. Every two meshes have the same sizes.
std::vector<Question> other_orders(CaseRunner& runner) {
  std::vector<Question> questions;
  AxisOrder order = usual_order;
  for (int k = 0; k < 20; ++k) {
    std::ranges::rotate(order, order.begin() + 1);
    if (k % 2 == 1) std::swap(order[1], order[static_cast<std::size_t>(1 + k % 4)]);
    questions.push_back(mesh_of(k % 2 == 1 ? questions.back().sizes : drawn_sizes(runner), order));
  }
  questions.push_back(mesh_of({.tp = 2, .cp = 3, .ep = 2, .dp = 3, .pp = 2},
                              {Axis::pp, Axis::dp, Axis::ep, Axis::cp, Axis::tp}));
  return questions;
}

// One rank, and all ranks on one axis.
std::vector<Question> one_axis() {
  std::vector<Question> questions{mesh_of({})};
  for (const Axis axis : usual_order) {
    AxisSizes sizes;
    sizes[axis] = 3;
    questions.push_back(mesh_of(sizes));
  }
  return questions;
}

// Each number of ranks on one axis, then on two. The last world is larger than two bytes hold.
std::vector<Question> every_size() {
  std::vector<Question> questions;
  for (const int ranks : every_rank_count) {
    AxisSizes sizes;
    sizes[usual_order[questions.size() % 5]] = ranks;
    questions.push_back(mesh_of(sizes));
  }
  questions.push_back(mesh_of({.tp = 8, .dp = 300, .pp = 2}));
  questions.push_back(mesh_of({.tp = 8, .cp = 2, .dp = 283, .pp = 16}));
  questions.push_back(mesh_of({.tp = 2, .dp = 7}));
  return questions;
}

}  // namespace

Exam exam() {
  const auto contract = usual_contract();
  return {
      {"the meshes of the task: 16 ranks with tp 2, dp 2 and pp 4, and 64 in nodes of 8",
       [contract](CaseRunner& runner) {
         ask(runner, contract, "16 ranks", {mesh_of({.tp = 2, .dp = 2, .pp = 4})});
         ask(runner, contract, "64 ranks", {mesh_of({.tp = 4, .dp = 8, .pp = 2})});
         ask(runner, contract, "few ranks",
             {mesh_of({.tp = 2, .dp = 2, .pp = 2}), mesh_of({.dp = 2, .pp = 2}),
              mesh_of({.tp = 2, .pp = 4}), mesh_of({.tp = 4, .dp = 2, .pp = 2})});
       }},
      {"in the usual order, tp is fastest, then cp, ep, dp and pp",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "drawn meshes", drawn_meshes(runner));
       }},
      {"any axis may be the fastest, and any other one the next",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "other orders", other_orders(runner));
       }},
      {"one rank is a world, and an axis of size 1 has a group for each rank",
       [contract](CaseRunner& runner) { judge(runner, contract, "one axis", one_axis()); }},
      {"each number of ranks up to three hundred, and 72,448",
       [contract](CaseRunner& runner) { judge(runner, contract, "every size", every_size()); }},
      {"sizes that do not make the world, and an axis named twice, are refused",
       [contract](CaseRunner& runner) {
         for (auto refused : {nonsense(), far_out()}) {
           refused.insert(refused.begin(), {mesh_of({.tp = 2, .dp = 2}), mesh_of({.pp = 3})});
           ask(runner, contract, "what makes no sense", refused);
         }
       }},
  };
}

}  // namespace lockstep::grader::device_mesh
