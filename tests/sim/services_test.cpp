#include "engine/sim/core/services.hpp"

#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

Request ask_for(const std::string& service, Bytes argument) {
  Request request = request_of(Op::service, 31);
  request.name = service;
  request.data = payload_of(std::move(argument));
  return request;
}

Request store(StoreCall call) { return ask_for("store", bytes_of(call)); }

Request item(std::int64_t index) {
  ByteWriter out;
  out.put(index);
  return ask_for("items", out.take());
}

Request busy(double seconds) {
  Request request = request_of(Op::compute, 30);
  request.seconds = seconds;
  return request;
}

std::string text_of(const Reply& reply) {
  const auto& bytes = reply.data.bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Options serving(int ranks, Service& service, std::uint64_t seed = 0) {
  Options options = world(ranks, seed);
  options.services = {&service};
  return options;
}

using Kind = StoreCall::Kind;

}  // namespace

TEST_CASE("store: get and wait block until another rank has set the key") {
  StoreService service;
  Core core(serving(3, service));
  const auto replies = run(
      core,
      {list({busy(2), store({Kind::set, "a", "1", 0, {}})}),
       list({store({Kind::get, "a", "", 0, {}})}),
       list({store({Kind::wait, "", "", 0, {"a", "b"}}), store({Kind::check, "c", "", 0, {}})})});
  // Rank 2 waits for "b", which nobody sets.
  REQUIRE(kind_found(core) == FindingKind::deadlock);
  CHECK(core.finding()->message ==
        "deadlock: rank 2 waits for the service 'store' (work/ring.cpp:31), "
        "and nothing can answer it anymore");
  CHECK(text_of(replies[1].at(0)) == "1");
}

TEST_CASE("store: add counts, check sees what is there, and a text is no number") {
  StoreService service;
  Core core(serving(1, service));
  const auto replies =
      run(core, {list({store({Kind::add, "n", "", 5, {}}), store({Kind::add, "n", "", -2, {}}),
                       store({Kind::get, "n", "", 0, {}}), store({Kind::check, "n", "", 0, {}}),
                       store({Kind::check, "m", "", 0, {}}), store({Kind::set, "n", "x", 0, {}}),
                       store({Kind::add, "n", "", 1, {}}), ask_for("store", Bytes(3))})});
  const auto number = [&](std::size_t i) {
    return ByteReader(replies[0].at(i).data.bytes).get<std::int64_t>();
  };
  CHECK(number(0) == 5);
  CHECK(number(1) == 3);
  CHECK(text_of(replies[0].at(2)) == "3");
  CHECK(replies[0].at(3).data.bytes[0] == std::byte(1));
  CHECK(replies[0].at(4).data.bytes[0] == std::byte(0));
  CHECK(replies[0].at(6).status == Status::failed);
  CHECK_THAT(replies[0].at(6).error, test::contains("which holds 'x', not a number"));
  CHECK(replies[0].at(7).status == Status::failed);
}

TEST_CASE("services are asked in the order of virtual time, whatever the seed") {
  const std::uint64_t seed = GENERATE(0, 1, 2, 3, 4, 5);
  ItemService service("items", {Bytes(1), Bytes(2), Bytes(3)});
  Core core(serving(3, service, seed));
  // Asked at 3, 1 and 2 seconds; then rank 1 again at 1 + 5.
  run(core, {list({busy(3), item(0)}), list({busy(1), item(1), busy(5), item(2)}),
             list({busy(2), item(2)})});
  CHECK_FALSE(core.finding());
  CHECK(service.asked() == std::vector<ItemService::Asked>{{1, 1}, {2, 2}, {0, 0}, {1, 2}});
}

TEST_CASE("the seed decides who is served first among equals") {
  std::map<std::vector<ItemService::Asked>, int> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ItemService service("items", {Bytes(1)});
    Core core(serving(3, service, seed));
    run(core, {list({item(0)}), list({item(0)}), list({item(0)})});
    ++orders[service.asked()];
  }
  CHECK(orders.size() > 1);
}

TEST_CASE("items: a number beyond the last fails the request, and an item costs its time") {
  ItemService service("items", {Bytes(7), Bytes(9)}, 0.5);
  Core core(serving(1, service));
  const auto replies = run(core, {list({item(1), item(2), item(-1)})});
  CHECK(replies[0][0].data.bytes.size() == 9);
  CHECK(replies[0][0].now == Approx(0.5));
  CHECK(replies[0][1].status == Status::failed);
  CHECK_THAT(replies[0][1].error, test::contains("asks for item 2; there are 2"));
  CHECK(replies[0][2].status == Status::failed);
}

TEST_CASE("events: each call waits for the rank's next one, and a late asker does not wait") {
  EventService service("gradients", {{{1.0, Bytes(1)}, {2.0, Bytes(2)}}, {{0.5, Bytes(3)}}});
  Core core(serving(2, service));
  const Request next = ask_for("gradients", {});
  const auto replies = run(core, {list({next, busy(4), next, next}), list({next})});
  CHECK(replies[0][0].now == Approx(1));
  CHECK(replies[0][2].now == Approx(5));
  CHECK(replies[0][2].data.bytes.size() == 2);
  CHECK(replies[0][3].status == Status::failed);
  CHECK_THAT(replies[0][3].error, test::contains("rank 0 waits for event 3, but has only 2"));
  CHECK(replies[1][0].now == Approx(0.5));
  CHECK(service.asked_s()[0] == std::vector<double>{0, 5});
}

TEST_CASE("messages and services share one clock: a later message does not overtake a service") {
  ItemService service("items", {Bytes(1), Bytes(1)});
  Options options = serving(3, service);
  options.network = {.latency_s = 10, .gap_s = 0, .bandwidth_bytes_s = 1e9};
  Core core(options);
  run(core, {list({message(Op::send, 1, 1)}), list({message(Op::recv, 0, 1), item(0)}),
             list({busy(9), item(1)})});
  CHECK(service.asked() == std::vector<ItemService::Asked>{{2, 1}, {1, 0}});
}

TEST_CASE("store: who waited for a key goes on when it was set, whatever the seed") {
  const std::uint64_t seed = GENERATE(0, 1, 2, 3);
  StoreService service(0.5);
  Core core(serving(3, service, seed));
  const auto replies =
      run(core,
          {list({busy(7), store({Kind::add, "b", "", 1, {}})}),
           list({busy(2), store({Kind::set, "a", "1", 0, {}})}),
           list({store({Kind::get, "a", "", 0, {}}), store({Kind::wait, "", "", 0, {"b", "a"}})})});
  CHECK_FALSE(core.finding());
  CHECK(replies[2].at(0).now == Approx(2.5));
  CHECK(replies[2].at(1).now == Approx(7.5));
  REQUIRE(service.log().size() == 4);
  CHECK(service.log()[3].rank == 2);
  CHECK(service.log()[3].answered_s == Approx(7.5));
}

TEST_CASE("store: a wait whose time is up fails then, though others go on later") {
  const std::uint64_t seed = GENERATE(0, 1, 2, 3);
  StoreService service;
  Core core(serving(3, service, seed));
  const StoreCall wait{Kind::wait, "", "", 0, {"a", "b"}, 3.0, ""};
  const auto replies =
      run(core, {list({busy(1), store(wait), store({Kind::check, "b", "", 0, {}})}),
                 list({busy(2), store({Kind::set, "a", "", 0, {}})}),
                 list({busy(9), store({Kind::set, "b", "", 0, {}})})});
  CHECK_FALSE(core.finding());
  CHECK(replies[0].at(1).status == Status::failed);
  CHECK_THAT(replies[0].at(1).error, test::contains("no rank set key \"b\" within 3 s"));
  CHECK(replies[0].at(1).now == Approx(4));
  CHECK(replies[0].at(2).data.bytes[0] == std::byte(0));
  CHECK(service.log().size() == 4);
}

TEST_CASE("store: what is set at the deadline has come in time") {
  const std::uint64_t seed = GENERATE(0, 1, 2, 3);
  StoreService service;
  Core core(serving(2, service, seed));
  const StoreCall get{Kind::get, "a", "", 0, {}, 3.0, ""};
  const auto replies =
      run(core, {list({store(get)}), list({busy(3), store({Kind::set, "a", "x", 0, {}})})});
  CHECK(text_of(replies[0].at(0)) == "x");
}

TEST_CASE("store: append, compare_set, delete_key and count_keys answer as a real store does") {
  StoreService service;
  Core core(serving(1, service));
  const auto compare = [](const char* expected, const char* desired) {
    return store({Kind::compare_set, "k", desired, 0, {}, 0, expected});
  };
  const auto replies = run(
      core,
      {list({compare("old", "new"), compare("", "one"), compare("zero", "two"),
             compare("one", "two"), store({Kind::append, "k", "!", 0, {}}),
             store({Kind::get, "k", "", 0, {}}), store({Kind::append, "l", "?", 0, {}}),
             store({Kind::count_keys, "", "", 0, {}}), store({Kind::delete_key, "k", "", 0, {}}),
             store({Kind::delete_key, "k", "", 0, {}}),
             store({Kind::count_keys, "l", "", 0, {}})})});
  const auto& mine = replies[0];
  CHECK(text_of(mine.at(0)) == "old");  // and made nothing
  CHECK(text_of(mine.at(1)) == "one");
  CHECK(text_of(mine.at(2)) == "one");
  CHECK(text_of(mine.at(3)) == "two");
  CHECK(text_of(mine.at(5)) == "two!");
  CHECK(ByteReader(mine.at(7).data.bytes).get<std::int64_t>() == 2);
  CHECK(mine.at(8).data.bytes[0] == std::byte(1));
  CHECK(mine.at(9).data.bytes[0] == std::byte(0));
  CHECK(ByteReader(mine.at(10).data.bytes).get<std::int64_t>() == 1);
}

TEST_CASE("a service that refuses who waited for it does so when it knows, not when it was asked") {
  struct Fuse final : Service {
    std::string_view name() const override { return "fuse"; }
    std::optional<Answer> serve(const Actor& who, const Request&, double now) override {
      if (who.rank == 1) blown = true;
      if (!blown) return std::nullopt;
      if (who.rank == 0) throw Error("blown");
      return Answer{{}, now};
    }
    bool blown = false;
  } fuse;
  const std::uint64_t seed = GENERATE(0, 1, 2);
  Core core(serving(2, fuse, seed));
  const auto replies =
      run(core, {list({ask_for("fuse", {})}), list({busy(4), ask_for("fuse", {})})});
  CHECK(replies[0].at(0).status == Status::failed);
  CHECK(replies[0].at(0).now == Approx(4));
}
