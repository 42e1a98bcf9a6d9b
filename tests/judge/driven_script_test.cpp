// Scripts of driven parts: what each rank's backward does, what is right after it, and the service
// that plays it.
#include "grader/exam/driven/script.hpp"

#include <set>

#include "grader/judge/compare.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using Kind = DrivenEvent::Kind;
using Made = DrivenEvent::Made;
using Elements = std::vector<double>;

namespace {

constexpr int all_ranks = 3;

DrivenScript script_of_all_kinds() {
  using Before = DrivenPass::Before;
  using Makes = DrivenPass::Makes;
  DrivenScript script{.sizes = {3, 0, 8, 1, 5}, .passes = {}};
  script.dtype = DType::float64;
  for (const Before before : {Before::taken, Before::kept, Before::added}) {
    for (const Makes makes : {Makes::in_place, Makes::some_elsewhere, Makes::some_absent}) {
      script.passes.push_back({.before = before, .makes = makes});
    }
  }
  return script;
}

std::vector<std::size_t> ready_order(const std::vector<ScriptedEvent>& events, std::size_t pass) {
  std::vector<std::size_t> order;
  for (const ScriptedEvent& one : events) {
    if (one.pass == pass && one.event.kind == Kind::ready) order.push_back(one.event.parameter);
  }
  return order;
}

// The grads of all ranks, followed event by event.
struct Followed {
  std::vector<std::vector<Elements>> grads;  // by rank and parameter
  std::vector<std::size_t> next;             // event, by rank

  // Up to the end of this pass on one rank.
  void follow(const DrivenScript& script, const std::vector<ScriptedEvent>& events, int rank) {
    auto& mine = grads[static_cast<std::size_t>(rank)];
    for (std::size_t& at = next[static_cast<std::size_t>(rank)];; ++at) {
      const DrivenEvent& event = events[at].event;
      if (event.kind == Kind::finalize) return static_cast<void>(++at);
      Elements& grad = mine[event.parameter];
      if (event.kind == Kind::take) grad.assign(grad.size(), 0);
      if (event.made == Made::not_at_all) continue;
      const Elements values = as_doubles(script.dtype, event.values);
      REQUIRE(values.size() == grad.size());
      for (std::size_t e = 0; e < grad.size(); ++e) grad[e] += values[e];
    }
  }
};

}  // namespace

TEST_CASE("driven script: each gradient comes once a pass, in an order of each rank's own") {
  const DrivenScript script{.sizes = std::vector<std::int64_t>(12, 1), .passes = {{}, {}}};
  std::set<std::vector<std::size_t>> orders;
  for (int rank = 0; rank < all_ranks; ++rank) {
    const auto events = script_of(script, 7, rank);
    CHECK(events.back().event.kind == Kind::done);
    for (const std::size_t pass : {0, 1}) {
      const auto order = ready_order(events, pass);
      CHECK(std::set(order.begin(), order.end()).size() == script.sizes.size());
      CHECK(order.size() == script.sizes.size());
      orders.insert(order);
    }
  }
  CHECK(orders.size() == 6);

  DrivenScript alike = script;
  alike.passes = {{.order = DrivenPass::Order::last_first}};
  CHECK(ready_order(script_of(alike, 7, 0), 0) == ready_order(script_of(alike, 7, 1), 0));
  CHECK(ready_order(script_of(alike, 7, 0), 0).front() == 11);
}

TEST_CASE("driven script: what is right is what the events add up to, on every rank") {
  for (const double share : {0.0, 1.0}) {
    DrivenScript script = script_of_all_kinds();
    script.share = share;
    script.afterwards = 0.5;
    const auto right = right_gradients(script, 11, all_ranks);
    Followed followed;
    std::vector<std::vector<ScriptedEvent>> events;
    for (int rank = 0; rank < all_ranks; ++rank) {
      events.push_back(script_of(script, 11, rank));
      auto& mine = followed.grads.emplace_back();
      for (const std::int64_t size : script.sizes) mine.emplace_back(size, 0.0);
      followed.next.push_back(0);
    }
    for (std::size_t p = 0; p < script.passes.size(); ++p) {
      CAPTURE(p, share);
      for (int rank = 0; rank < all_ranks; ++rank) {
        followed.follow(script, events[static_cast<std::size_t>(rank)], rank);
      }
      for (std::size_t i = 0; i < script.sizes.size(); ++i) {
        Elements sum(static_cast<std::size_t>(script.sizes[i]));
        for (const auto& of_rank : followed.grads) {
          for (std::size_t e = 0; e < sum.size(); ++e) {
            sum[e] += script.weight_of(all_ranks) * of_rank[i][e];
          }
        }
        CHECK_FALSE(first_difference(sum, right[p][i].values, right[p][i].tolerance));
        for (auto& of_rank : followed.grads) of_rank[i] = right[p][i].values;
      }
    }
  }
}

TEST_CASE("driven script: the service gives each event as late as it takes, and none too many") {
  const DrivenScript script{.sizes = {4, 2}, .passes = {{}}};
  Members members{4, {3, 1}};
  ScriptService service = service_of(script, members, 5);
  sim::Request request;
  const auto events = script_of(script, 5, 0);
  double now = 1;
  for (const ScriptedEvent& expected : events) {
    const auto answer = service.serve({3, 0}, request, now);
    REQUIRE(answer);
    CHECK(answer->at == now + expected.takes_s);
    CHECK((expected.takes_s > 0) == (expected.event.kind == Kind::ready));
    const auto given = fields_from_bytes<DrivenEvent>(answer->data.bytes);
    CHECK(given.kind == expected.event.kind);
    CHECK(given.values == expected.event.values);
    now = answer->at + 0.5;
  }
  CHECK_THROWS_AS(service.serve({3, 0}, request, now), Error);
  CHECK_THROWS_AS(service.serve({2, 0}, request, now), Error);  // no member
  CHECK(service.notes(0).size() == events.size());
  CHECK(service.notes(0)[1].asked_s == service.notes(0)[0].given_s + 0.5);
  CHECK_THROWS_AS(service.require_all(), MalformedMessage);  // rank 1 asked for nothing
}
