// Messages asked for without a Request: the same answers, figures and sentences, for less work.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

Message brief(Op op, int peer, std::int64_t count, int tag = 0) {
  Message message;
  message.op = op;
  message.peer = peer;
  message.count = count;
  message.tag = tag;
  message.file = "/home/student/lab/work/ring.cpp";
  message.line = 12;
  return message;
}

Message brief_wait(const sim::Answer& started, std::uint64_t checksum) {
  Message message;
  message.op = Op::wait;
  message.handle = started.handle;
  message.checksum = checksum;
  return message;
}

std::span<const std::byte> bytes_in(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

TEST_CASE("messages: what is received lies where it was wanted, by every pair of forms") {
  const Op sends = GENERATE(Op::send, Op::isend), receives = GENERATE(Op::recv, Op::irecv);
  const bool late = GENERATE(false, true);  // the receiver comes when the message is long there
  const std::vector<float> values{1, 2, 3};
  Core core(world(2));
  const auto result = run_fibers(core, [&](FiberRank& self) {
    Request pause = request_of(Op::compute, 1);
    pause.seconds = 1;
    if (self.rank == 0) {
      Message sent = brief(sends, 1, 3);
      std::vector<float> given = values;
      sent.data = bytes_in(given);
      const sim::Answer reply = self.port.call(sent);
      CHECK((reply.handle != 0) == (sends == Op::isend));
      if (sends == Op::isend) self.port.call(brief_wait(reply, checksum_of(sent.data)));
      given.assign(3, 0);  // the buffer is free again: the receiver need not have run
      return;
    }
    if (late) self.port.call(pause);
    std::vector<float> got(3, 9);
    const auto room = std::as_writable_bytes(std::span(got));
    Message wanted = brief(receives, 0, 3);
    if (receives == Op::recv) wanted.into = room;
    wanted.checksum = checksum_of(room);
    sim::Answer answer = self.port.call(wanted);
    if (receives == Op::irecv) {
      Message wait = brief_wait(answer, wanted.checksum);
      if (late) self.port.call(pause);
      wait.into = room;
      answer = self.port.call(wait);
    }
    CHECK(got == values);
    CHECK(answer.received == room.size());
  });
  if (result.finding) FAIL(result.finding->message);
  CHECK(core.counters().messages.size() == 1);
  CHECK(core.counters().ranks[1].bytes_received == 12);
}

TEST_CASE("messages: isend is answered at once, so a rank goes on until it must wait") {
  std::vector<int> order;
  Core core(world(2));
  const auto result = run_fibers(core, [&](FiberRank& self) {
    const int peer = 1 - self.rank;
    std::vector<sim::Answer> started;
    for (int tag = 0; tag < 3; ++tag) {
      started.push_back(self.port.call(brief(Op::isend, peer, 5, tag)));
      order.push_back(self.rank);
    }
    for (int tag = 0; tag < 3; ++tag) self.port.call(brief(Op::recv, peer, 5, tag));
    for (const sim::Answer& answer : started) self.port.call(brief_wait(answer, 0));
  });
  if (result.finding) FAIL(result.finding->message);
  CHECK(
      (order == std::vector<int>{0, 0, 0, 1, 1, 1} || order == std::vector<int>{1, 1, 1, 0, 0, 0}));
}

// A message of n elements holds the port for 1 + n seconds and arrives 3 later. By hand:
//     tag  elements  sent at  wanted at  ready   port       arrives
//      2       1        1         0        1     1 to 3        6
//      1       2        0         4        4     4 to 7       10
//      3       4        2         6        6     7 to 12      15    ready with the next two, and
//      4       1        2         6        6    12 to 14      17    posted before them
//      5       1        2         6        6    14 to 16      19
TEST_CASE(
    "messages: a port takes those that are open in the order in which both sides were there") {
  Options options = world(2);
  options.network = {.latency_s = 3, .gap_s = 1, .bandwidth_bytes_s = 4};
  options.seed = static_cast<std::uint64_t>(GENERATE(range(0, 8)));
  const auto whole = GENERATE(false, true);
  Core core(options);
  std::vector<double> clocks;  // after each wait: the sender's, then the receiver's
  const auto result = run_fibers(core, [&](FiberRank& self) {
    const Op op = self.rank == 0 ? Op::isend : Op::irecv;
    std::map<int, std::uint64_t> started;
    const auto start = [&](int tag, std::int64_t count) {
      Message asked = brief(op, 1 - self.rank, count, tag);
      started[tag] =
          whole ? self.port.call(request_of(asked)).handle : self.port.call(asked).handle;
    };
    if (self.rank == 0) {
      start(1, 2);
      self.port.compute(1);
      start(2, 1);
      self.port.compute(1);
      start(3, 4);
      start(4, 1);
      start(5, 1);
    } else {
      start(2, 1);
      self.port.compute(4);
      start(1, 2);
      self.port.compute(2);
      start(5, 1);
      start(4, 1);
      start(3, 4);
    }
    std::vector<double> after;
    for (const int tag : {2, 1, 3, 4, 5}) {
      self.port.call(brief_wait({nullptr, started[tag], 0, 0}, 0));
      after.push_back(self.port.now_s());
    }
    clocks.insert(self.rank == 0 ? clocks.begin() : clocks.end(), after.begin(), after.end());
  });
  if (result.finding) FAIL(result.finding->message);
  CHECK(clocks == std::vector<double>{3, 7, 12, 14, 16, 6, 10, 15, 17, 19});
  std::vector<std::array<double, 3>> messages;  // tag, when it took the port, when it arrived
  for (const MessageRecord& record : core.counters().messages) {
    messages.push_back({static_cast<double>(record.tag), record.sent_s, record.arrived_s});
  }
  std::ranges::sort(messages, {}, [](const auto& message) { return message[1]; });
  CHECK(messages == std::vector<std::array<double, 3>>{
                        {2, 1, 6}, {1, 4, 10}, {3, 7, 15}, {4, 12, 17}, {5, 14, 19}});
}

TEST_CASE("messages: what makes no sense is refused with the sentence of a request") {
  Core core(world(3));
  const auto result = run_fibers(core, [](FiberRank& self) {
    for (const Message& wrong :
         {brief(Op::isend, 3, 1), brief(Op::recv, self.rank, 1), brief(Op::recv, -1, 1),
          brief(Op::send, (self.rank + 1) % 3, 0), brief_wait({}, 0)}) {
      std::string sentence, same;
      try {
        self.port.call(wrong);
      } catch (const Error& error) {
        sentence = error.what();
      }
      try {
        self.port.call(sim::request_of(wrong));
      } catch (const Error& error) {
        same = error.what();
      }
      CHECK(sentence != "");
      CHECK(sentence == same);
    }
  });
  CHECK_FALSE(result.finding);
}

TEST_CASE("messages: a buffer that changes in flight is found, and limits hold") {
  {
    Core core(world(2));
    const auto result = run_fibers(core, [](FiberRank& self) {
      if (self.rank == 1) return void(self.port.call(brief(Op::recv, 0, 1)));
      const std::vector<float> value{1};
      Message sent = brief(Op::isend, 1, 1);
      sent.data = bytes_in(value);
      self.port.call(brief_wait(self.port.call(sent), checksum_of(bytes_in({2}))));
    });
    REQUIRE(result.finding);
    CHECK(result.finding->kind == FindingKind::in_flight);
  }
  auto options = world(2);
  options.limits.messages_max = 3;
  Core core(options);
  const auto result = run_fibers(core, [](FiberRank& self) {
    for (int i = 0; i < 4; ++i) {
      self.port.call(self.rank == 0 ? brief(Op::send, 1, 1) : brief(Op::recv, 0, 1));
    }
  });
  REQUIRE(result.finding);
  CHECK(result.finding->kind == FindingKind::traffic_limit);
}

TEST_CASE("messages: without records the totals are the same") {
  Counters counters[2];
  for (const Record record : {Record::totals, Record::everything}) {
    auto options = world(5);
    options.record = record;
    Core core(options);
    run_fibers(core, [](FiberRank& self) {
      for (int step = 0; step < 4; ++step) {
        const sim::Answer sent = self.port.call(brief(Op::isend, (self.rank + 1) % 5, 7));
        self.port.call(brief(Op::recv, (self.rank + 4) % 5, 7));
        self.port.call(brief_wait(sent, 0));
      }
    });
    counters[record == Record::everything] = core.counters();
  }
  CHECK(counters[0].messages.empty());
  CHECK(counters[1].messages.size() == 20);
  CHECK(counters[0].trace_hash == counters[1].trace_hash);
  CHECK(counters[0].makespan_s == counters[1].makespan_s);
  CHECK(counters[0].depth == 4);
}
