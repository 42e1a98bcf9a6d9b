// Streams and events as clocks, and the schedule that draws among what they allow.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/paper/order/schedule.hpp"
#include "engine/paper/order/timeline.hpp"
#include "tests/catch.hpp"

using namespace lockstep::paper;

namespace {

// A device with a default stream, two blocking streams and one that does not block.
struct Streams {
  StreamTimeline timeline;
  Track legacy = timeline.add(TrackKind::legacy, 0, "the default stream");
  Track first = timeline.add(TrackKind::blocking, 0, "stream 1");
  Track second = timeline.add(TrackKind::blocking, 0, "stream 2");
  Track apart = timeline.add(TrackKind::non_blocking, 0, "stream 3");
};

// In which order the schedule runs two operations a stream, as a string of their names.
std::string run_order(std::uint64_t seed) {
  Streams is;
  Schedule schedule(is.timeline, seed);
  std::string order;
  const auto add = [&](Track track, char name) {
    const Operation operation = is.timeline.begin(track, std::string(1, name));
    schedule.add({operation, [&order, name] { order += name; }});
  };
  add(is.first, 'a');
  add(is.first, 'b');
  const Clock event = is.timeline.now(is.first);
  add(is.apart, 'x');
  is.timeline.wait(is.apart, event);
  add(is.apart, 'y');
  schedule.run_until(is.timeline.now(is.apart));
  return order;
}

}  // namespace

TEST_CASE("order: operations of one stream come one after another, those of two do not") {
  Streams is;
  const Operation a = is.timeline.begin(is.first, "a"), b = is.timeline.begin(is.second, "b"),
                  c = is.timeline.begin(is.first, "c");
  CHECK(is.timeline.before(a, c));
  CHECK_FALSE(is.timeline.before(c, a));
  CHECK_FALSE(is.timeline.before(a, b));
  CHECK_FALSE(is.timeline.before(b, c));
  CHECK(is.timeline.describe(c) == "c (#2 of stream 1)");
}

TEST_CASE(
    "order: a stream that waits for an event comes after what was asked for before it was "
    "recorded, and after nothing later") {
  Streams is;
  const Operation a = is.timeline.begin(is.first, "a");
  const Clock event = is.timeline.now(is.first);
  const Operation late = is.timeline.begin(is.first, "late");
  const Operation early = is.timeline.begin(is.apart, "early");
  is.timeline.wait(is.apart, event);
  const Operation b = is.timeline.begin(is.apart, "b");
  CHECK(is.timeline.before(a, b));
  CHECK_FALSE(is.timeline.before(late, b));
  CHECK_FALSE(is.timeline.before(a, early));
}

TEST_CASE("order: what a stream has waited for is passed on by its own events") {
  Streams is;
  const Operation a = is.timeline.begin(is.first, "a");
  is.timeline.wait(is.second, is.timeline.now(is.first));
  is.timeline.wait(is.apart, is.timeline.now(is.second));  // no operation of its own between
  CHECK(is.timeline.before(a, is.timeline.begin(is.apart, "b")));
}

TEST_CASE(
    "order: the default stream and blocking streams wait for each other, a non-blocking one "
    "stands apart") {
  Streams is;
  const Operation a = is.timeline.begin(is.first, "a"), x = is.timeline.begin(is.apart, "x");
  const Operation middle = is.timeline.begin(is.legacy, "middle");
  const Operation b = is.timeline.begin(is.second, "b"), y = is.timeline.begin(is.apart, "y");
  CHECK(is.timeline.before(a, middle));
  CHECK(is.timeline.before(middle, b));
  CHECK(is.timeline.before(a, b));  // though neither stream knows of the other
  CHECK_FALSE(is.timeline.before(x, middle));
  CHECK_FALSE(is.timeline.before(middle, y));
}

TEST_CASE("order: a device's default stream does not wait for another device") {
  Streams is;
  const Track other = is.timeline.add(TrackKind::blocking, 1, "stream 4");
  const Operation a = is.timeline.begin(other, "a");
  CHECK_FALSE(is.timeline.before(a, is.timeline.begin(is.legacy, "b")));
}

TEST_CASE("order: what the host has waited for comes before all that it asks for later") {
  Streams is;
  const Operation a = is.timeline.begin(is.first, "a"), x = is.timeline.begin(is.apart, "x");
  is.timeline.host_learns(is.timeline.now(is.first));
  const Operation b = is.timeline.begin(is.apart, "b");
  CHECK(is.timeline.host_knows(a));
  CHECK_FALSE(is.timeline.host_knows(x));
  CHECK(is.timeline.before(a, b));
  CHECK(is.timeline.before(x, b));  // their stream
  CHECK_FALSE(is.timeline.before(x, is.timeline.begin(is.first, "c")));
}

TEST_CASE("order: it stays right when the host has waited for everything and clocks are dropped") {
  Streams is;
  const Operation a = is.timeline.begin(is.first, "a"), b = is.timeline.begin(is.apart, "b");
  is.timeline.host_learns(is.timeline.now(is.first));
  is.timeline.host_learns(is.timeline.now(is.apart));
  const Operation c = is.timeline.begin(is.second, "c"), d = is.timeline.begin(is.apart, "d");
  CHECK(is.timeline.before(a, c));
  CHECK(is.timeline.before(b, c));
  CHECK_FALSE(is.timeline.before(c, d));
  CHECK(is.timeline.describe(a) == "a (#1 of stream 1)");
}

TEST_CASE("order: a host that is always a step behind keeps the clocks of that step only") {
  Streams is;
  std::size_t most = 0;
  Operation last = is.timeline.begin(is.first, "first");
  for (int step = 0; step < 1000; ++step) {
    const Clock event = is.timeline.now(is.first);
    const Operation next = is.timeline.begin(is.first, "next");
    is.timeline.wait(is.apart, event);
    const Operation copy = is.timeline.begin(is.apart, "copy");
    CHECK(is.timeline.before(last, copy));
    CHECK_FALSE(is.timeline.before(next, copy));
    is.timeline.host_learns(is.timeline.now(is.apart));
    most = std::max(most, is.timeline.clocks_kept());
    last = next;
  }
  CHECK(most <= 3);
}

TEST_CASE("schedule: every order that it draws is allowed, and over seeds it draws all of them") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) seen.insert(run_order(seed));
  CHECK(seen == std::set<std::string>{"abxy", "axby", "xaby"});
}

TEST_CASE("schedule: the same seed draws the same order") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) CHECK(run_order(seed) == run_order(seed));
}

TEST_CASE("schedule: nothing runs before somebody waits, and the wait runs what it counts") {
  Streams is;
  Schedule schedule(is.timeline, 1);
  int ran = 0;
  for (int i = 0; i < 3; ++i) schedule.add({is.timeline.begin(is.first, "a"), [&] { ++ran; }});
  const Clock two = is.timeline.clock_of(2);
  CHECK(ran == 0);
  CHECK_FALSE(schedule.finished(two));
  schedule.run_until(two);
  CHECK(ran >= 2);
  CHECK(schedule.finished(two));
}

TEST_CASE("schedule: who asks again and again gets there") {
  Streams is;
  Schedule schedule(is.timeline, 3);
  for (int i = 0; i < 5; ++i) schedule.add({is.timeline.begin(is.first, "a"), [] {}});
  int asked = 1;
  while (!schedule.step_towards(is.timeline.now(is.first))) ++asked;
  CHECK(asked == 5);
}

TEST_CASE("schedule: a queue that is full makes operations run") {
  Streams is;
  Schedule schedule(is.timeline, 1);
  std::size_t ran = 0;
  for (std::size_t i = 0; i < Schedule::depth + 10; ++i) {
    schedule.add({is.timeline.begin(is.first, "a"), [&] { ++ran; }});
  }
  CHECK(ran == 10);
  CHECK(schedule.waiting() == Schedule::depth);
}

TEST_CASE("schedule: what is queued for a device that has failed never runs, and waits end") {
  Streams is;
  Schedule schedule(is.timeline, 1);
  bool ran = false;
  schedule.add({is.timeline.begin(is.first, "bad"), [&] { schedule.drop(0); }});
  schedule.add({is.timeline.begin(is.first, "next"), [&] { ran = true; }});
  schedule.run_until(is.timeline.now(is.first));
  CHECK(schedule.finished(is.timeline.now(is.first)));
  CHECK_FALSE(ran);
}

TEST_CASE("schedule: an operation that waits for others keeps its place, and other streams go on") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Streams is;
    Schedule schedule(is.timeline, seed);
    std::string order;
    bool come = false;
    unsigned idle = 0;
    schedule.when_idle([&](unsigned turns) {
      idle = turns;
      come = turns == 3;
    });
    schedule.add({.operation = is.timeline.begin(is.first, "sum"), .step = [&] {
                    if (!come) return Progress::waits;
                    order += 's';
                    return Progress::done;
                  }});
    schedule.add({is.timeline.begin(is.first, "after"), [&] { order += 'a'; }});
    schedule.add({is.timeline.begin(is.apart, "other"), [&] { order += 'o'; }});
    schedule.run_until(is.timeline.now(is.first));
    CHECK(order == "osa");
    CHECK(idle == 3);
    CHECK(schedule.waiting() == 0);
  }
}

TEST_CASE("schedule: what another process wants runs with what is before it, and nothing else") {
  Streams is;
  Schedule schedule(is.timeline, 1);
  std::string order;
  bool wanted = false;
  const auto add = [&](Track track, char name) {
    schedule.add(
        {is.timeline.begin(track, std::string(1, name)), [&order, name] { order += name; }});
  };
  add(is.apart, 'x');
  add(is.first, 'a');
  schedule.add({.operation = is.timeline.begin(is.first, "sum"),
                .step =
                    [&] {
                      order += 's';
                      return Progress::done;
                    },
                .wanted = [&] { return wanted; }});
  add(is.first, 'b');
  schedule.run_wanted();
  CHECK(order == "");
  wanted = true;
  schedule.run_wanted();
  CHECK(order == "as");
}

TEST_CASE(
    "schedule: an operation in steps whose device fails in a step is dropped with the others") {
  Streams is;
  Schedule schedule(is.timeline, 1);
  schedule.add({.operation = is.timeline.begin(is.first, "sum"), .step = [&] {
                  schedule.drop(0);
                  return Progress::done;
                }});
  schedule.add({is.timeline.begin(is.first, "after"), [] { FAIL("was dropped"); }});
  schedule.run_until(is.timeline.now(is.first));
  CHECK(schedule.waiting() == 0);
}
