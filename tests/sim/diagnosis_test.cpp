#include <chrono>
#include <iostream>

#include "engine/sim/wire/printable.hpp"
#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;

TEST_CASE("a ring in which all receive first is named with its cycle") {
  Core core(world(4));
  std::vector<Script> scripts;
  for (int rank = 0; rank < 4; ++rank) {
    scripts.push_back(list({message(Op::recv, (rank + 3) % 4, 3, 21)}));
  }
  run(core, scripts);
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK(core.finding()->message ==
        "deadlock: rank 0 waits in recv from rank 3 (12 bytes, work/ring.cpp:21), "
        "rank 3 waits in recv from rank 2 (12 bytes, work/ring.cpp:21), "
        "rank 2 waits in recv from rank 1 (12 bytes, work/ring.cpp:21), "
        "rank 1 waits in recv from rank 0 (12 bytes, work/ring.cpp:21): none can go first; "
        "all of them receive, but no rank has sent");
  CHECK(core.finding()->ranks == std::vector<int>{0, 3, 2, 1});
  CHECK(core.finding()->where == "work/ring.cpp:21");
}

TEST_CASE("a ring whose messages go the wrong way: the message that nobody receives is shown") {
  Core core(world(3));
  std::vector<Script> scripts;
  for (int rank = 0; rank < 3; ++rank) {
    scripts.push_back(list(
        {message(Op::isend, (rank + 2) % 3, 3, 20), message(Op::recv, (rank + 2) % 3, 3, 21)}));
  }
  run(core, scripts);
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK_THAT(
      core.finding()->message,
      test::contains("no rank receives rank 0's isend to rank 2 (12 bytes, work/ring.cpp:20)"));
}

TEST_CASE("a ring in which all send first is a deadlock: send is a rendezvous") {
  const int n = GENERATE(2, 3, 5, 8);
  Core core(world(n));
  std::vector<Script> scripts;
  for (int rank = 0; rank < n; ++rank) {
    scripts.push_back(list(
        {message(Op::send, (rank + 1) % n, 3, 20), message(Op::recv, (rank + n - 1) % n, 3, 21)}));
  }
  run(core, scripts);
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK(core.finding()->ranks.size() == static_cast<std::size_t>(n));
  CHECK_THAT(core.finding()->message, test::contains("all of them send"));
}

TEST_CASE("the cycle leaves out ranks that only wait for it") {
  Core core(world(4));
  run(core, {list({message(Op::recv, 1, 1)}), list({message(Op::recv, 2, 1)}),
             list({message(Op::recv, 1, 1)}), list({message(Op::recv, 0, 1)})});
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK(core.finding()->ranks == std::vector<int>{1, 2});
  CHECK(core.finding()->cause.empty());
}

TEST_CASE("waiting for a rank that has returned is a deadlock that says so") {
  Core core(world(3));
  run(core, {list({message(Op::recv, 2, 1, 5)}), list({}), list({message(Op::recv, 1, 2, 9)})});
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK(core.finding()->message ==
        "deadlock: rank 2 waits in recv from rank 1 (8 bytes, work/ring.cpp:9), "
        "which has already returned without sending it");
  for (const bool enters : {false, true}) {
    Core threw(world(3));
    threw.threw(1, "the disk is full");
    const Request waits =
        enters ? collective(Collective::barrier, {}, 7) : message(Op::recv, 1, 2, 9);
    run(threw, {list({waits}), list({}), list({waits})});
    REQUIRE(kind_found(threw) == FindingKind::deadlock);
    CHECK_THAT(threw.finding()->message,
               test::contains("has already returned without ") &&
                   test::contains(" it; rank 1 had thrown: the disk is full"));
  }
  CHECK(core.finding()->ranks == std::vector<int>{2, 1});
  CHECK(core.finding()->cause == "returned_early");
}

TEST_CASE("waiting in a collective for a rank that has returned has the same cause") {
  Core core(world(3));
  run(core, {list({collective(Collective::barrier, {}, 7)}), list({}),
             list({collective(Collective::barrier, {}, 7)})});
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK(core.finding()->cause == "returned_early");
}

TEST_CASE("of thousands of ranks a sentence names a few, and is there at once") {
  const int n = 16'384;
  const auto begin = std::chrono::steady_clock::now();
  {
    Core core(world(n));
    for (int rank = 0; rank < n; ++rank) {
      core.ask({rank, 0}, message(Op::recv, (rank + 1) % n, 1, 9));
    }
    core.advance();
    REQUIRE(kind_found(core) == FindingKind::deadlock);
    CHECK(core.finding()->ranks.size() == static_cast<std::size_t>(n));
    CHECK_THAT(core.finding()->message,
               test::contains("rank 3 waits in recv from rank 4 (4 bytes, work/ring.cpp:9), and so "
                              "on through 16378 more, rank 16382 waits"));
  }
  {
    Core core(world(n));
    for (int rank = 0; rank < n; ++rank) {
      if (rank == 5) {
        core.end({rank, 0});
      } else if (rank % 1000 == 999) {
        core.ask({rank, 0}, message(Op::recv, 0, 1, 9));
      } else {
        core.ask({rank, 0}, collective(Collective::barrier, {}, 7));
      }
    }
    core.advance();
    REQUIRE(kind_found(core) == FindingKind::deadlock);
    CHECK_THAT(core.finding()->message,
               test::contains("rank 0 waits in barrier for ranks 5, 999, 1999, 2999, 3999, 4999 "
                              "and 11 more (work/ring.cpp:7), rank 999 waits in recv from rank 0"));
  }
  {
    Core core(world(n));
    for (int rank = 0; rank < n; ++rank) {
      if (rank == 5) core.end({rank, 0});
      if (rank != 5) core.ask({rank, 0}, collective(Collective::barrier, {}, 7));
    }
    core.advance();
    CHECK_THAT(core.finding()->message,
               test::contains("ranks 0 to 4 and 6 to 16383 wait in barrier (work/ring.cpp:7) for "
                              "rank 5, which has already returned"));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << "three diagnoses of 16384 ranks took " << took.count() * 1e3 << " ms in all\n";
}

TEST_CASE("tags that differ are a deadlock that shows both") {
  Core core(world(2));
  run(core, {list({message(Op::send, 1, 1, 3, 4)}), list({message(Op::recv, 0, 1, 6, 5)})});
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK_THAT(core.finding()->message, test::contains("send to rank 1 (4 bytes, tag 4"));
  CHECK_THAT(core.finding()->message, test::contains("recv from rank 0 (4 bytes, tag 5"));
  CHECK_THAT(core.finding()->message, test::contains("do not match"));
}

TEST_CASE("a collective that one rank does not enter is a deadlock that names it") {
  Core core(world(3));
  run(core, {list({collective(Collective::barrier, {}, 7)}), list({message(Op::recv, 0, 1, 8)}),
             list({collective(Collective::barrier, {}, 7)})});
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK(core.finding()->message ==
        "deadlock: rank 0 waits in barrier for rank 1 (work/ring.cpp:7), "
        "rank 1 waits in recv from rank 0 (4 bytes, work/ring.cpp:8): none can go first; "
        "no rank leaves barrier before its whole group has entered");
}

TEST_CASE("counts that differ are a mismatch naming both ranks, lines and counts") {
  Core core(world(2));
  run(core, {list({message(Op::send, 1, 8, 3)}), list({message(Op::recv, 0, 7, 6)})});
  REQUIRE(kind_found(core) == FindingKind::mismatch);
  CHECK(core.finding()->message ==
        "mismatch: rank 0 sends 8 float32 (work/ring.cpp:3) to rank 1, "
        "which expects 7 float32 (work/ring.cpp:6)");
}

TEST_CASE("collectives that disagree are a mismatch that names who did what, the odd one first") {
  Core core(world(4));
  std::vector<Script> scripts;
  for (int rank = 0; rank < 4; ++rank) {
    const std::vector<float> values(rank == 2 ? 6 : 5);
    scripts.push_back(list({collective(Collective::barrier, {}),
                            collective(Collective::all_reduce, values, 10 + rank / 2)}));
  }
  run(core, scripts);
  REQUIRE(kind_found(core) == FindingKind::mismatch);
  CHECK(
      core.finding()->message ==
      "mismatch: as collective number 2, rank 2 calls all_reduce(sum) of 6 float32 "
      "(work/ring.cpp:11), while ranks 0, 1 and 3 call all_reduce(sum) of 5 float32 "
      "(work/ring.cpp:10); all ranks of a group must call the same collectives in the same order, "
      "with the same number of elements");
}

TEST_CASE("collectives in another order are a mismatch even while a rank is missing") {
  Core core(world(3));
  run(core, {list({collective(Collective::barrier, {}, 1)}),
             list({collective(Collective::all_reduce, {1}, 2)}), list({})});
  REQUIRE(kind_found(core) == FindingKind::mismatch);
}

TEST_CASE("a message that nobody received is found at the end") {
  Core core(world(2));
  run(core, {list({message(Op::isend, 1, 3, 4, 9)}), list({})});
  REQUIRE(kind_found(core) == FindingKind::undelivered);
  CHECK(core.finding()->message ==
        "undelivered: rank 0 sent 12 bytes to rank 1 with tag 9 (work/ring.cpp:4), "
        "but rank 1 returned without receiving them");
}

TEST_CASE("a buffer changed before wait is found, for a send and for a receive") {
  const Op first = GENERATE(Op::isend, Op::irecv);
  Core core(world(2));
  Request start = message(first, 1, 2, 14);
  start.checksum = checksum_of(floats({5, 5}).bytes);
  const auto changer = [&](const std::vector<Reply>& replies) -> std::optional<Request> {
    if (replies.empty()) return start;
    if (replies.size() > 1) return std::nullopt;
    return wait_for(replies[0].handle, floats({1, 2}));
  };
  run(core, {changer, list({message(first == Op::isend ? Op::recv : Op::send, 0, 2)})});
  REQUIRE(kind_found(core) == FindingKind::in_flight);
  CHECK_THAT(core.finding()->message,
             test::contains("rank 0 changed the buffer of its " + std::string(name_of(first)) +
                            " (work/ring.cpp:14)"));
}

TEST_CASE("an operation that was never waited for is found at the end") {
  Core core(world(2));
  run(core, {list({message(Op::isend, 1, 3, 4)}), list({message(Op::recv, 0, 3)})});
  REQUIRE(kind_found(core) == FindingKind::in_flight);
  CHECK_THAT(core.finding()->message, test::contains("never waited for its isend"));
}

TEST_CASE(
    "who waits for a lost rank is answered with the reason, and the loss is the first cause") {
  Core core(world(3));
  core.ask({0, 0}, message(Op::recv, 1, 1));
  core.ask({2, 0}, collective(Collective::barrier, {}));
  core.lose(1, "rank 1 called exit(0)");
  REQUIRE(core.quiet());
  const auto resumes = core.advance();
  REQUIRE(resumes.size() == 2);
  for (const auto& resume : resumes) {
    CHECK(resume.reply.status == Status::failed);
    CHECK(resume.reply.error == "rank 1 called exit(0)");
  }
  CHECK(kind_found(core) == FindingKind::rank_exited);
  CHECK(core.finding()->ranks == std::vector<int>{1});
}

TEST_CASE("a collective that a lost rank had entered is not run for it, and who waits is told") {
  Core core(world(3));
  Request started = collective(Collective::all_reduce, {1, 2});
  started.op = Op::icollective;
  core.ask({0, 0}, started);
  core.ask({1, 0}, started);
  core.ask({2, 0}, request_of(Op::compute, 1));
  std::uint64_t handle = 0;
  for (const auto& resume : core.advance()) {
    if (resume.actor.rank == 0) handle = resume.reply.handle;
  }
  core.give_up(1, "rank 1 gave up");
  core.ask({0, 0}, wait_for(handle, floats({1, 2})));
  core.ask({2, 0}, collective(Collective::all_reduce, {1, 2}));
  const auto resumes = core.advance();
  REQUIRE(resumes.size() == 2);
  for (const auto& resume : resumes) {
    CHECK(resume.actor.rank != 1);
    CHECK(resume.reply.status == Status::failed);
    CHECK(resume.reply.error == "rank 1 gave up");
  }
}

TEST_CASE("strands of a rank that all wait to be notified are a deadlock that says so") {
  Core core(world(1));
  core.start({0, 1}, {0, 0});
  core.ask({0, 0}, request_of(Op::pause, 31));
  core.ask({0, 1}, request_of(Op::pause, 57));
  core.advance();
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK_THAT(core.finding()->message,
             test::contains("rank 0 waits in a monitor to be notified (work/ring.cpp:31") &&
                 test::contains("rank 0 (strand 1) waits in a monitor to be notified") &&
                 test::contains("notify_all()"));
  CHECK(core.finding()->where == "work/ring.cpp:31");
}

TEST_CASE("a strand that waits to be notified when all others have ended is a deadlock") {
  Core core(world(1));
  core.start({0, 1}, {0, 0});
  core.ask({0, 0}, request_of(Op::pause, 31));
  core.end({0, 1});
  core.advance();
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK_THAT(core.finding()->message, test::contains("all other strands of this rank have ended"));
}

TEST_CASE("joining a strand that waits to be notified is a deadlock with both, by name") {
  Core core(world(1));
  core.start({0, 1}, {0, 0}, "loader 0");
  Request join = request_of(Op::join, 0);
  join.handle = 1;
  core.ask({0, 0}, join);
  core.ask({0, 1}, request_of(Op::pause, 57));
  core.advance();
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK_THAT(core.finding()->message,
             test::contains("rank 0 waits for its strand 'loader 0' to end") &&
                 test::contains("rank 0 (strand 'loader 0') waits in a monitor to be notified "
                                "(work/ring.cpp:57"));
}

TEST_CASE("text from players is made fit to print") {
  CHECK(printable("a\tb\n\x1b[31m", 100) == "a\tb\n?[31m");
  CHECK(printable("sum \xc3\x97 4 \xff\xc3", 100) == "sum \xc3\x97 4 ??");
  CHECK(printable("\xed\xa0\x80", 100) == "???");
  CHECK(printable("\xc3\x97\xc3\x97", 3) == "\xc3\x97");
  CHECK(printable("a\302\233b\233\177", 100) == "a?b??");
  CHECK(printable("\u061c\u200e\u200f\u202a\u202e\u2066\u2069 \u2026", 100) == "??????? \u2026");
  CHECK(place_of("/me/work/lab/solutions/06_a/b.cpp", 3) == "solutions/06_a/b.cpp:3");
  CHECK(place_of("/me/lab/work/06_a/b.cpp", 3) == "work/06_a/b.cpp:3");
  CHECK(place_of("work/b.cpp", 3) == "work/b.cpp:3");
  CHECK(place_of("", 3).empty());
}
