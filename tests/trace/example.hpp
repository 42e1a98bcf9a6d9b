// A small run that has one of everything, for tests of what is written of it.
#pragma once

#include <string>

#include "engine/trace/timeline.hpp"

namespace lockstep::test {

// What a program may call its files and strands, against whoever reads them.
inline const std::string hostile_name = "</script><script>alert(1)</script>&\"'\\ \xff\xe2\x80\xa8";

// Rank 0 computes for 3 s and sends 8 bytes meanwhile; rank 1 waits 4 s for them.
inline trace::Timeline small_run() {
  trace::Timeline run;
  run.title = hostile_name;
  run.ranks = 2;
  run.facts = {{"program", hostile_name}};
  run.add(trace::Span{.name = run.named("forward"), .end_s = 3});
  trace::Span wait{.rank = 1, .lane = trace::Lane::waiting, .name = run.named("recv from rank 0")};
  wait.where = run.named(hostile_name);
  wait.end_s = 4;
  run.add(wait);
  trace::Message message{.src = 0, .dst = 1, .tag = 7, .bytes = 8, .depth = 1};
  message.label = run.named("isend");
  message.start_s = 1;
  message.sent_s = 3.5;
  message.arrived_s = 4;
  run.add(message);
  run.sample("memory", "bytes", 0, 0, 100);
  run.sample("memory", "bytes", 0, 2, 50);
  run.finding = trace::Finding{"deadlock",
                               hostile_name,
                               "a.cpp:1",
                               {1},
                               {{1, 0, "rank 1", "barrier", "", "a.cpp:1", {0}, 4}}};
  return run;
}

}  // namespace lockstep::test
