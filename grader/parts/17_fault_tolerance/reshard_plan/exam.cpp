// The exam of reshard_plan. The judge plans nothing: it numbers the elements of the whole tensor,
// notes where each lies in the first source that has it, and walks through the answer element by
// element. Flat plans that are too large for that have one right form, found by their bounds. A
// wrong plan is told by the known mistake that gives it, or by the first element that differs.
#include <algorithm>
#include <climits>
#include <map>

#include "grader/exam/function/exam.hpp"
#include "grader/parts/17_fault_tolerance/reshard_plan/case.hpp"
#include "grader/parts/17_fault_tolerance/reshard_plan/cuts.hpp"

namespace lockstep::grader::reshard_plan {

namespace {

using checkpoint::Stretch;
using Question = ReshardQuestion;
using Answer = ReshardAnswer;

constexpr std::int64_t walked_max = 10'000;  // elements of a tensor

const Boxes& wanted_by(const Question& q) { return q.wanted[static_cast<std::size_t>(q.rank)]; }

struct Element {
  int source = -1;
  std::int64_t offset = 0;
  bool operator==(const Element&) const = default;
};
using Elements = std::vector<Element>;

// The elements that the rank reads, one by one; a source of -1: no source has it.
Elements right_elements(const Question& q) {
  std::map<std::int64_t, Element> first;  // by number
  for (std::size_t source = 0; source < q.saved.size(); ++source) {
    std::int64_t offset = 0;
    for (const std::int64_t number : numbers_of(q.shape, q.saved[source])) {
      first.try_emplace(number, Element{static_cast<int>(source), offset++});
    }
  }
  Elements right;
  for (const std::int64_t number : numbers_of(q.shape, wanted_by(q))) {
    const auto found = first.find(number);
    right.push_back(found == first.end() ? Element{} : found->second);
  }
  return right;
}

std::vector<Stretch> joined(const Elements& elements) {
  std::vector<Stretch> stretches;
  for (const Element& one : elements) {
    const bool follows = !stretches.empty() && stretches.back().source == one.source &&
                         stretches.back().offset + stretches.back().length == one.offset;
    if (follows) {
      ++stretches.back().length;
    } else {
      stretches.push_back({one.source, one.offset, 1});
    }
  }
  return stretches;
}

// The plan of a flat tensor whose sources are ranges one after the other, by their bounds.
std::vector<Stretch> of_bounds(const Question& q) {
  std::vector<Stretch> stretches;
  for (const Box& wanted : wanted_by(q)) {
    for (std::size_t source = 0; source < q.saved.size(); ++source) {
      for (const Box& saved : q.saved[source]) {
        const std::int64_t begin = std::max(wanted.begin[0], saved.begin[0]);
        const std::int64_t end = std::min(wanted.end[0], saved.end[0]);
        if (begin >= end) continue;
        stretches.push_back({static_cast<int>(source), begin - saved.begin[0], end - begin});
      }
    }
  }
  return stretches;
}

bool is_walked(const Question& q) { return numel_of(q.shape) <= walked_max; }

Answer right_answer(const Question& q) {
  if (!is_walked(q)) return {false, of_bounds(q)};
  const Elements right = right_elements(q);
  if (std::ranges::find(right, Element{}) != right.end()) return {true, {}};
  return {false, joined(right)};
}

// The first entries of a list, for a person.
template <typename List>
std::string listed(const List& list, std::size_t most, const char* between, const auto& shown) {
  std::string all;
  for (std::size_t i = 0; i < std::min(list.size(), most); ++i) {
    all += text(i == 0 ? "" : between, shown(list[i]));
  }
  return list.size() > most ? text(all, between, "…") : all;
}

std::string text_of(const ShardPlan& plan) {
  return listed(plan, 8, "; ", [](const Boxes& boxes) {
    const auto words = [](const Box& box) { return lockstep::text_of(box); };
    return boxes.empty() ? "nothing" : listed(boxes, 4, " and ", words);
  });
}

std::string text_of(const Question& q) {
  return text("rank ", q.rank, " of ", q.wanted.size(), ", a tensor ", lockstep::text_of(q.shape),
              "; saved: ", text_of(q.saved), "; wanted: ", text_of(q.wanted));
}

std::string text_of(const Answer& answer) {
  if (answer.missing) return "a CheckpointError";
  if (answer.stretches.empty()) return "no stretch";
  return listed(answer.stretches, 12, " ", [](const Stretch& one) {
    return text("{", one.source, ", ", one.offset, ", ", one.length, "}");
  });
}

std::string text_of(const Element& one) {
  return text("element ", one.offset, " of source ", one.source);
}

// The elements that an answer names, in its order; of very many the first.
Elements elements_of(const Answer& seen) {
  Elements elements;
  for (const Stretch& one : seen.stretches) {
    for (std::int64_t i = 0; i < one.length && std::ssize(elements) <= walked_max; ++i) {
      const auto place = static_cast<std::uint64_t>(one.offset) + static_cast<std::uint64_t>(i);
      elements.push_back({one.source, static_cast<std::int64_t>(place)});
    }
  }
  return elements;
}

// The cause of elements that differ, where no known mistake gives them.
Cause cause_of(const Question& q, const Elements& seen, const Elements& right, std::size_t at) {
  if (at >= right.size()) {
    return {"too_many", "a rank reads each element that it holds once, and no other"};
  }
  if (q.shape.empty()) {
    return {"scalar_is_nothing", "a box without axes is a scalar, which has one element"};
  }
  if (at < seen.size()) {
    const Element& one = seen[at];
    if (one.source < 0 || std::cmp_greater_equal(one.source, q.saved.size())) {
      return {"no_such_source", "sources count from 0, in the order of `saved`"};
    }
    if (one.offset >= numel_of(q.saved[static_cast<std::size_t>(one.source)])) {
      return {"padding_read",
              "the boxes of this source have fewer elements; what follows them is padding, or "
              "another tensor"};
    }
  }
  if (at < std::min(seen.size(), right.size()) && seen[at].source > right[at].source) {
    return {"other_place", "what several sources have is read from the first that has it"};
  }
  if (at < seen.size() && std::ranges::find(right, seen[at]) == right.end()) {
    return {"other_place", "the rank does not hold it: no stretch goes over a gap of boxes"};
  }
  return {"other_place",
          "an element has an offset, its place in its source, and a turn, its place on the rank; "
          "both count what lies before it, box after box, each row by row"};
}

Failure fault_of(const Question& q, const Answer& seen, const Answer& right) {
  Failure found{.message = text("it gives ", text_of(seen), ", and ", text_of(right), " is right"),
                .expected = text_of(right),
                .seen = text_of(seen)};
  if (right.missing) {
    return because({"accepts_a_hole",
                    "no source has all that the rank wants; throw a "
                    "CheckpointError that names what is missing"},
                   std::move(found));
  }
  if (seen.missing) {
    return because({"refuses_what_is_there",
                    "a source has what counts as missing: look at all boxes of all sources before "
                    "you refuse; and where nothing is wanted, nothing is missing"},
                   std::move(found));
  }
  if (!is_walked(q)) {
    return because({"other_bounds",
                    "in a flat tensor, a stretch goes from the larger of two starts to the smaller "
                    "of two ends, its offset is from the start of its source, and places on the "
                    "rank need 64 bits, too"},
                   std::move(found));
  }
  const Elements elements = elements_of(seen), wanted = right_elements(q);
  if (elements == wanted) {
    return because({"other_stretches",
                    "these are the right elements, but stretches that follow each other in one "
                    "source are one, each lies in one source, and none is empty"},
                   std::move(found));
  }
  std::size_t at = 0;
  while (at < std::min(elements.size(), wanted.size()) && elements[at] == wanted[at]) ++at;
  const auto shown = [&](const Elements& all) {
    return at < all.size() ? text_of(all[at]) : std::string("nothing");
  };
  found.message = text("in place ", at, " of what the rank holds it reads ", shown(elements),
                       ", and should read ", shown(wanted), "; ", found.message);
  return because(cause_of(q, elements, wanted, at), std::move(found));
}

std::optional<Failure> wrong(std::span<const Question> asked, const Answer& seen) {
  const Answer right = right_answer(asked.back());
  if (seen == right) return std::nullopt;
  return fault_of(asked.back(), seen, right);
}

// A rank reads the same whatever the others want, and so does each of its boxes.
std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  const Boxes& mine = wanted_by(q);
  if (q.wanted.size() > 1) offered.push_back({q.shape, q.saved, {mine}, 0});
  for (std::size_t i = 0; mine.size() > 1 && i < mine.size(); ++i) {
    offered.push_back({q.shape, q.saved, {{mine[i]}}, 0});
  }
  return offered;
}

FunctionContract<Question, Answer> usual_contract() {
  return {.text_of = [](const Question& q) { return text_of(q); },
          .wrong = wrong,
          .is_right = [](const Question& q, const Answer& seen) { return seen == right_answer(q); },
          .refusals = {{.valid =
                            [](const Question& q) {
                              return q.rank >= 0 && std::cmp_less(q.rank, q.wanted.size());
                            },
                        .accepts = {"accepts_rank", "ranks of the new run count from 0"},
                        .throws_other = [](const Question& q) { return right_answer(q).missing; },
                        .other_type = "CheckpointError"}},
          .smaller = smaller,
          .sizes = [](const Question& q) -> Sizes {
            return {std::ssize(q.wanted), {numel_of(q.shape)}};
          }};
}

void each_rank(std::vector<Question>& all, const Shape& shape, const ShardPlan& saved,
               const ShardPlan& wanted) {
  for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
    all.push_back({shape, saved, wanted, static_cast<int>(rank)});
  }
}

// The example of the task first: rank 1, whose sources begin elsewhere than the tensor and the
// rank.
std::vector<Question> one_axis(CaseRunner& runner) {
  std::vector<Question> all;
  for (const int rank : {1, 0}) all.push_back({{8}, equal_ranges(8, 3), equal_ranges(8, 2), rank});
  for (const auto& [from, to] : {std::pair{2, 3}, {3, 2}, {4, 1}, {1, 4}, {5, 3}, {3, 8}}) {
    const std::int64_t count = runner.draw_between(11, 40);
    each_rank(all, {count}, equal_ranges(count, from), equal_ranges(count, to));
    each_rank(all, {count}, drawn_ranges(runner, count, from), drawn_ranges(runner, count, to));
  }
  each_rank(all, {9}, {{{{6}, {9}}}, {{{0}, {6}}}}, equal_ranges(9, 2));
  each_rank(all, {1}, equal_ranges(1, 4), equal_ranges(1, 3));
  each_rank(all, {0}, equal_ranges(0, 2), equal_ranges(0, 3));
  each_rank(all, {5}, ranges({0, 5, 0}), ranges({2, 0, 3}));
  return all;
}

// The last sources are padded in their files.
std::vector<Question> same_cut(CaseRunner& runner) {
  std::vector<Question> all;
  for (const int ranks : every_rank_count) {
    const std::int64_t count = ranks + runner.draw_between(1, 50);
    const ShardPlan cut = equal_ranges(count, ranks);
    all.push_back({{count}, cut, cut, static_cast<int>(runner.draw_between(0, ranks - 1))});
  }
  each_rank(all, {17}, equal_ranges(17, 4), equal_ranges(17, 2));
  return all;
}

std::vector<Question> replicas(CaseRunner& runner) {
  std::vector<Question> all;
  const std::int64_t count = runner.draw_between(7, 30);
  const Boxes whole = whole_of({count});
  each_rank(all, {count}, {whole, whole, whole}, equal_ranges(count, 2));
  ShardPlan twice = equal_ranges(count, 2);
  for (const Boxes& boxes : equal_ranges(count, 3)) twice.push_back(boxes);
  each_rank(all, {count}, twice, equal_ranges(count, 4));
  ShardPlan late = equal_ranges(count, 3);
  late.front().clear();  // its elements are in the last source only
  late.push_back(whole);
  each_rank(all, {count}, late, equal_ranges(count, 2));
  // Offsets that go on in another source.
  each_rank(all, {count}, {{{{0}, {3}}}, whole}, {whole});
  // The first source has the middle, so the second one gives what lies on both sides.
  each_rank(all, {count}, {{{{2}, {5}}}, whole}, {whole});
  return all;
}

std::vector<Question> large(CaseRunner& runner) {
  std::vector<Question> all;
  for (const std::int64_t count : {(std::int64_t{1} << 17) + 3, (std::int64_t{1} << 33) + 301}) {
    for (const auto& [from, to] : {std::pair{300, 300}, {300, 7}, {8, 300}}) {
      all.push_back({{count},
                     equal_ranges(count, from),
                     equal_ranges(count, to),
                     static_cast<int>(runner.draw_between(0, to - 1))});
    }
    each_rank(all, {count}, equal_ranges(count, 2), equal_ranges(count, 3));
    each_rank(all, {count}, equal_ranges(count, 3), equal_ranges(count, 2));
  }
  return all;
}

std::vector<Question> two_axes(CaseRunner& runner) {
  std::vector<Question> all;
  each_rank(all, {4, 4}, along({4, 4}, 0, 2), along({4, 4}, 1, 2));
  each_rank(all, {4, 6}, along({4, 6}, 1, 2), along({4, 6}, 0, 2));
  each_rank(all, {6, 4}, along({6, 4}, 0, 3), along({6, 4}, 0, 2));
  for (const auto& [from, to] : {std::pair{2, 3}, {3, 2}, {4, 2}, {1, 3}, {5, 1}}) {
    const Shape shape{runner.draw_between(1, 9), runner.draw_between(1, 9)};
    for (const std::size_t axis : {0, 1}) {
      each_rank(all, shape, along(shape, axis, from), along(shape, 1 - axis, to));
      each_rank(all, shape, along(shape, axis, from), along(shape, axis, to));
    }
  }
  return all;
}

std::vector<Question> lists(CaseRunner& runner) {
  std::vector<Question> all;
  const std::int64_t width = runner.draw_between(4, 8);
  const Shape qkv{3 * width, width}, matrix{5, 7};
  each_rank(all, qkv, heads(width, 2), heads(width, 4));
  each_rank(all, qkv, heads(width, 3), flat(qkv, 2));
  each_rank(all, qkv, flat(qkv, 3), heads(width, 2));
  each_rank(all, matrix, flat(matrix, 3), flat(matrix, 3));
  each_rank(all, matrix, flat(matrix, 2), along(matrix, 1, 2));
  const Shape cube{runner.draw_between(2, 4), runner.draw_between(2, 4), runner.draw_between(2, 4)};
  each_rank(all, cube, flat(cube, 3), along(cube, 2, 2));
  each_rank(all, cube, along(cube, 1, 2), flat(cube, 2));
  each_rank(all, cube, along(cube, 2, 2), along(cube, 1, 2));
  each_rank(all, {}, {whole_of({})}, {whole_of({}), {}});
  each_rank(all, {}, {{}, whole_of({})}, {whole_of({})});
  const Box none{{2, 3}, {2, 7}};  // no row
  each_rank(all, matrix, {{none}, whole_of(matrix)}, {{none}, {none, {{1, 0}, {3, 2}}}});
  return all;
}

Check refusals(FunctionContract<Question, Answer> refusing) {
  const ShardPlan two = equal_ranges(8, 2), whole{whole_of({8})};
  refusing.refusals->nonsense = {{{8}, two, two, 2},
                                 {{8}, two, two, -1},
                                 {{8}, two, two, INT_MIN},
                                 {{8}, two, two, INT_MAX},
                                 {{8}, two, {}, 0}};
  return check_of_refusals(refusing,
                           "an element that no source has is refused, and so is a rank that the "
                           "new run does not have",
                           {{{8}, two, two, 0},
                            {{8}, {{}, two[1]}, two, 0},
                            {{8}, {two[0]}, two, 1},
                            {{8}, {two[0]}, whole, 0},
                            {{8}, {two[1]}, whole, 0},
                            {{8}, {{{{0}, {3}}}, {{{5}, {8}}}}, whole, 0},
                            {{4, 4}, {{{{0, 0}, {4, 3}}}}, {whole_of({4, 4})}, 0},
                            {{}, {{}}, {whole_of({})}, 0},
                            {{8}, {}, two, 0},
                            {{8}, {{}, two[1]}, two, 1}});
}

}  // namespace

Exam exam() {
  const auto contract = usual_contract();
  const auto check = [&](std::string name, std::vector<Question> (*questions)(CaseRunner&)) {
    return Check{std::move(name), [contract, questions](CaseRunner& runner) {
                   judge(runner, contract, "plans", questions(runner));
                 }};
  };
  const auto beginning = [](Check first, Step step) {
    first.begins = std::move(step);
    return first;
  };
  return {
      beginning(check("flat tensors: each wanted element is read once, in its turn", one_axis),
                {"one axis", 60}),
      check("with the same cut a rank reads its own source, and never padding", same_cut),
      check("what several sources have is read from the first of them", replicas),
      check("300 ranks, and more elements than 32 bits count", large),
      beginning(check("boxes of two axes: columns out of rows, and rows out of columns", two_axes),
                {"boxes", 40}),
      check("lists of boxes on both sides, three axes, and scalars", lists),
      refusals(contract),
  };
}

}  // namespace lockstep::grader::reshard_plan
