#include "grader/parts/17_fault_tolerance/sharded_checkpoint/boxes_in_turn.hpp"

#include <algorithm>
#include <set>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/17_fault_tolerance/sharded_checkpoint/case.hpp"

namespace lockstep::grader::sharded_checkpoint {
namespace {

struct Reading {
  Shape shape;
  std::vector<Box> saved;
  Boxes wanted;
  std::uint32_t element_bytes = 8;
  std::size_t damaged_from = ~std::size_t{0};  // the call of `read` that fails, and those behind it
};

// Has the boxes, and notes which stretches are asked for.
class BoxService final : public TypedService<BoxCall> {
 public:
  BoxService(const Reading& reading, std::uint64_t salt) : reading_(reading), salt_(salt) {}

  const std::vector<BoxCall>& asked() const { return asked_; }
  // Elements with these numbers in the whole tensor.
  Bytes bytes_of(std::span<const std::int64_t> numbers) const {
    Bytes bytes;
    for (const std::int64_t number : numbers) {
      const std::uint64_t bits = keyed_bits(salt_, static_cast<std::uint64_t>(number));
      for (std::uint32_t i = 0; i < reading_.element_bytes; ++i) {
        bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
      }
    }
    return bytes;
  }

 private:
  std::optional<Answer> answer(const sim::Actor&, BoxCall call, double now) override {
    const bool is_there = call.source >= 0 && std::cmp_less(call.source, reading_.saved.size());
    std::vector<std::int64_t> numbers;
    if (is_there) {
      numbers = numbers_of(reading_.shape, {reading_.saved[static_cast<std::size_t>(call.source)]});
    }
    if (call.offset < 0 || call.length < 1 || call.length > std::ssize(numbers) - call.offset) {
      throw Error(text("read was asked for ", call.length, " elements of box ", call.source,
                       " from element ", call.offset, " on; the box has ", numbers.size()));
    }
    asked_.push_back(call);
    if (asked_.size() > reading_.damaged_from) {
      return answer_with(BoxAnswer{text("box ", call.source, " is damaged"), {}}, now);
    }
    const auto part = std::span(numbers).subspan(static_cast<std::size_t>(call.offset),
                                                 static_cast<std::size_t>(call.length));
    return answer_with(BoxAnswer{"", bytes_of(part)}, now);
  }

  const Reading& reading_;
  std::uint64_t salt_;
  std::vector<BoxCall> asked_;
};

std::optional<Played> play(CaseRunner& runner, const Reading& reading, BoxService& boxes,
                           const char* what) {
  const ShardedCase c{reading.saved, reading.wanted, reading.element_bytes, Peer::stays, {}};
  return play_served(
      runner,
      text(reading.saved.size(), " boxes of ", text_of(reading.shape), ", ", reading.element_bytes,
           " bytes an element; ", numel_of(reading.wanted), " elements are wanted", what),
      std::vector{c}, {&boxes}, 1'000);
}

// Boxes are read one after the other, each from its front to its back.
void check_turns(CaseRunner& runner, const Played& played, const std::vector<BoxCall>& asked) {
  std::set<int> over;
  for (std::size_t i = 1; i < asked.size(); ++i) {
    const BoxCall &before = asked[i - 1], &call = asked[i];
    const bool same = call.source == before.source;
    if (!same) over.insert(before.source);
    const bool comes_back =
        same ? call.offset < before.offset + before.length : over.contains(call.source);
    if (!comes_back) continue;
    runner.fail(played, because({"block_twice",
                                 "read one box after the other, and each from front to back, or a "
                                 "block of it is read again"},
                                {.verdict = Verdict::efficiency,
                                 .message = text("element ", call.offset, " of box ", call.source,
                                                 " was read behind element ",
                                                 before.offset + before.length - 1, " of box ",
                                                 before.source)}));
  }
}

void read_in_turn(CaseRunner& runner, const Reading& reading) {
  BoxService boxes(reading, runner.draw());
  const auto played = play(runner, reading, boxes, "");
  if (!played) return;
  const auto report = read_fields<BoxesReport>(played->results->of(0));
  if (report.ending.kind != Ending::Kind::returned) {
    runner.fail(*played, {.cause = "refuses_valid",
                          .message = text("every wanted element is in a box, and read_boxes threw ",
                                          report.ending.type, ": ", report.ending.what),
                          .thrown_at = report.ending.thrown_at});
  }
  const auto wanted = numbers_of(reading.shape, reading.wanted);
  const Bytes right = boxes.bytes_of(wanted);
  if (report.bytes.size() != right.size()) throw MalformedMessage("another number of bytes");
  const auto at = std::ranges::mismatch(report.bytes, right).in1 - report.bytes.begin();
  if (std::cmp_less(at, right.size())) {
    runner.fail(*played,
                because({"other_place",
                         "elements lie in `into` in the order of `wanted`, whatever the order in "
                         "which they are read; the place of a stretch counts bytes"},
                        {.message = text("element ", at / reading.element_bytes,
                                         " of what is wanted is another one, or was not read")}));
  }
  std::int64_t elements = 0;
  for (const BoxCall& call : boxes.asked()) elements += call.length;
  if (elements != std::ssize(wanted)) {
    runner.fail(*played, because({"reads_too_much", "each wanted element is read once"},
                                 {.verdict = Verdict::efficiency,
                                  .message = text(elements, " elements were read, and ",
                                                  wanted.size(), " are wanted")}));
  }
  check_turns(runner, *played, boxes.asked());
}

const Shape matrix{4, 6};
const std::vector<Box> left_and_right{{{0, 0}, {4, 3}}, {{0, 3}, {4, 6}}};
const std::vector<Box> lower_and_upper{{{2, 0}, {4, 6}}, {{0, 0}, {2, 6}}};

}  // namespace

void boxes_in_turn(CaseRunner& runner) {
  read_in_turn(runner, {matrix, left_and_right, whole_of(matrix), 4});
  read_in_turn(runner, {matrix, lower_and_upper, {{{0, 4}, {4, 6}}}, 8});
  read_in_turn(runner, {matrix, left_and_right, range_of(whole_of(matrix), 8, 16), 2});
  read_in_turn(runner, {matrix, lower_and_upper, {{{1, 3}, {3, 6}}, {{1, 0}, {4, 2}}}, 1});
  const Shape cube{3, 4, 5};
  const auto middle = runner.draw_between(1, 3), row = runner.draw_between(1, 2);
  const std::vector<Box> four{{{0, 0, 0}, {row, middle, 5}},
                              {{0, middle, 0}, {row, 4, 5}},
                              {{row, 0, 0}, {3, 4, 2}},
                              {{row, 0, 2}, {3, 4, 5}}};
  read_in_turn(runner, {cube, four, range_of(whole_of(cube), runner.draw_between(0, 9), 55), 8});
  read_in_turn(runner, {matrix, left_and_right, {}, 8});
}

void boxes_refused(CaseRunner& runner) {
  const std::vector<Box> with_a_hole{{{0, 0}, {2, 6}}, {{3, 0}, {4, 6}}};
  for (const Reading& reading : {Reading{matrix, with_a_hole, {{{0, 1}, {4, 2}}}},
                                 Reading{matrix, left_and_right, whole_of(matrix), 8, 0},
                                 Reading{matrix, left_and_right, whole_of(matrix), 8, 1}}) {
    BoxService boxes(reading, runner.draw());
    const bool hole = reading.saved.front() == with_a_hole.front();
    const char* const what = hole ? ", one of which no box has" : ", and the storage is damaged";
    const auto played = play(runner, reading, boxes, what);
    if (!played) continue;
    const Ending ending = read_fields<BoxesReport>(played->results->of(0)).ending;
    const bool told = hole || ending.what.find("damaged") != std::string::npos;
    if (ending.kind == Ending::Kind::threw_expected && told) continue;
    runner.fail(*played,
                because({hole ? "hole_accepted" : "damage_hidden",
                         hole ? "no read has a stretch for it: let what reshard throws through"
                              : "what `read` throws names the file and the tensor: let it through"},
                        {.message = text("read_boxes ",
                                         ending.kind == Ending::Kind::returned
                                             ? std::string("returned")
                                             : text("threw ", ending.type, ": ", ending.what)),
                         .expected = "a CheckpointError",
                         .thrown_at = ending.thrown_at}));
  }
}

}  // namespace lockstep::grader::sharded_checkpoint
