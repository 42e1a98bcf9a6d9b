// What every store does, run over each: c10d's semantics, and deadlines that name what is missing.
#include <algorithm>
#include <functional>
#include <future>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/stopwatch.hpp"
#include "tests/catch.hpp"
#include "tests/comm/stores.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;
using lockstep::test::Kind;
using lockstep::test::SharedStore;

namespace {

using Keys = std::vector<std::string>;

Kind each_kind() { return GENERATE(Kind::tcp, Kind::file, Kind::memory); }

// Runs `body` in `count` threads, each with a client of its own, and returns what they returned.
template <typename Body>
auto in_threads(const SharedStore& shared, int count, const Body& body) {
  std::vector<std::future<decltype(body(*shared.join(), 0))>> threads;
  for (int i = 0; i < count; ++i) {
    threads.push_back(std::async(std::launch::async, [&, i] { return body(*shared.join(), i); }));
  }
  std::vector<decltype(body(*shared.join(), 0))> results;
  for (auto& thread : threads) results.push_back(thread.get());
  return results;
}

}  // namespace

TEST_CASE("store: what one sets, another gets, byte for byte") {
  const SharedStore shared(each_kind());
  const auto one = shared.join(), two = shared.join();
  one->set("name", "value");
  CHECK(two->get("name") == "value");
  two->set("name", std::string("with\0byte", 9));
  CHECK(one->get("name") == std::string("with\0byte", 9));
  one->set("empty", "");
  CHECK(two->get("empty").empty());
  one->set("", "the empty key");
  CHECK(two->get("") == "the empty key");
  CHECK(two->num_keys() == 3);
}

TEST_CASE("store: add keeps decimal text and returns the new value") {
  const SharedStore shared(each_kind());
  const auto store = shared.join();
  CHECK(store->add("a", 5) == 5);
  CHECK(store->add("a", -2) == 3);
  CHECK(store->get("a") == "3");
  store->set("b", "40");
  CHECK(store->add("b", 2) == 42);
  CHECK(store->add("nothing", 0) == 0);
  CHECK(store->get("nothing") == "0");
}

TEST_CASE("store: what cannot be added to is named and stays as it is") {
  const SharedStore shared(each_kind());
  const auto store = shared.join();
  store->set("word", "seven");
  CHECK_THROWS_WITH(store->add("word", 1), contains("\"word\"") && contains("holds \"seven\""));
  store->set("edge", "9223372036854775807");
  CHECK_THROWS_AS(store->add("edge", 1), ContractError);
  CHECK(store->get("word") == "seven");
  CHECK(shared.join()->get("edge") == "9223372036854775807");
}

TEST_CASE("store: check tells whether a key exists and does not wait") {
  const SharedStore shared(each_kind());
  const auto store = shared.join();
  CHECK_FALSE(store->check("later"));
  store->set("later", "");
  CHECK(shared.join()->check("later"));
}

TEST_CASE("store: append adds at the end and makes the key") {
  const SharedStore shared(each_kind());
  const auto store = shared.join();
  store->append("log", "one,");
  store->append("log", "");
  shared.join()->append("log", "two");
  CHECK(store->get("log") == "one,two");
  store->append("nothing", "");
  CHECK(store->check("nothing"));
}

TEST_CASE("store: compare_set sets where the value is the expected one") {
  const SharedStore shared(each_kind());
  const auto store = shared.join(), other = shared.join();
  SECTION("a missing key is made when nothing is expected") {
    CHECK(store->compare_set("key", "", "first") == "first");
    CHECK(other->get("key") == "first");
  }
  SECTION("a missing key is not made when something is expected, which comes back") {
    CHECK(store->compare_set("key", "expected", "desired") == "expected");
    CHECK_FALSE(other->check("key"));
    CHECK(other->num_keys() == 0);
  }
  SECTION("another value comes back and stays") {
    other->set("key", "current");
    CHECK(store->compare_set("key", "expected", "desired") == "current");
    CHECK(store->compare_set("key", "", "desired") == "current");
    CHECK(other->get("key") == "current");
  }
  SECTION("the expected value is replaced") {
    other->set("key", "expected");
    CHECK(store->compare_set("key", "expected", "desired") == "desired");
    CHECK(other->get("key") == "desired");
    CHECK(store->compare_set("key", "desired", "") == "");
    CHECK(store->compare_set("key", "", "again") == "again");
    CHECK(other->get("key") == "again");
  }
}

TEST_CASE("store: deleted keys are gone, and a new store has none") {
  const SharedStore shared(each_kind());
  const auto store = shared.join(), other = shared.join();
  CHECK(store->num_keys() == 0);
  CHECK_FALSE(store->delete_key("key"));
  store->set("key", "value");
  store->add("number", 1);
  CHECK(other->num_keys() == 2);
  CHECK(other->delete_key("key"));
  CHECK_FALSE(other->delete_key("key"));
  CHECK_FALSE(store->check("key"));
  CHECK(store->num_keys() == 1);
  CHECK(store->add("key", 1) == 1);  // as if it had never been
}

TEST_CASE("store: several keys are set and got in the order given") {
  const SharedStore shared(each_kind());
  const std::vector<std::pair<std::string, std::string>> values{{"b", "1"}, {"a", "2"}, {"b", "3"}};
  shared.join()->multi_set(values);
  CHECK(shared.join()->multi_get(Keys{"a", "b", "a"}) == Keys{"2", "3", "2"});
  CHECK(shared.join()->multi_get({}).empty());
}

TEST_CASE("store: get and wait return when another makes the key, in whatever way") {
  const Kind kind = each_kind();
  const std::vector<std::function<void(Store&)>> ways{
      [](Store& store) { store.set("slow", "7"); }, [](Store& store) { store.add("slow", 7); },
      [](Store& store) { store.append("slow", "7"); },
      [](Store& store) { store.compare_set("slow", "", "7"); }};
  for (const auto& way : ways) {
    const SharedStore shared(kind);
    auto got = std::async(std::launch::async, [&] { return shared.join()->get("slow"); });
    auto waited = std::async(std::launch::async, [&] {
      shared.join()->wait(Keys{"slow", "count"}, 30);
      return true;
    });
    const auto maker = shared.join();
    maker->add("count", 1);
    way(*maker);
    CHECK(got.get() == "7");
    CHECK(waited.get());
  }
}

TEST_CASE("store: a thread that waits keeps no other thread of its rank from calling") {
  const SharedStore shared(each_kind());
  const auto store = shared.join();
  auto waited = std::async(std::launch::async, [&] {
    store->wait(Keys{"slow"}, 30);
    return true;
  });
  const Stopwatch watch;
  // Several calls, so that some of them come during the wait.
  while (watch.seconds() < 0.2) store->add("calls", 1);
  store->set("slow", "");
  CHECK(waited.get());
  CHECK(watch.seconds() < 10);
}

TEST_CASE("store: a wait wants all its keys at once") {
  const SharedStore shared(each_kind());
  const auto store = shared.join();
  store->set("a", "");
  store->set("b", "");
  store->delete_key("a");
  CHECK_THROWS_WITH(store->wait(Keys{"b", "a"}, 0.01), contains("\"a\""));
  store->set("a", "");
  CHECK_NOTHROW(store->wait(Keys{"a", "b"}, 0));
  CHECK_NOTHROW(store->wait(Keys{}, 0));
}

TEST_CASE("store: a deadline names the first missing key, the place and the seconds") {
  const SharedStore shared(each_kind(), 2);  // of every answer of the server, too
  const auto store = shared.join();
  store->set("present", "1");
  const auto place = contains(shared.place());
  CHECK_THROWS_WITH(store->wait(Keys{"present", "absent", "absent too"}, 0.02),
                    contains("\"absent\"") && contains("0.02 s") && place);
  CHECK_THROWS_WITH(store->get("never"), contains("\"never\"") && contains("2 s") && place);
  CHECK_THROWS_AS(store->wait(Keys{"absent"}, 0), CommError);
  CHECK(store->get("present") == "1");  // the store is as good as before
}

TEST_CASE("store: a deadline that is no time is refused") {
  const SharedStore shared(each_kind());
  const auto store = shared.join();
  const auto advice = contains("pass 0 to 1000000 seconds");
  for (const double seconds : {-1.0, 0.0 / 0.0, 1e18, 1e300, 1.0 / 0.0, -1.0 / 0.0}) {
    CHECK_THROWS_WITH(store->wait(Keys{"key"}, seconds), advice);
    CHECK_THROWS_WITH(connect_store("127.0.0.1", 1, seconds), advice);
    CHECK_THROWS_WITH(make_memory_store(seconds), advice);
    CHECK_THROWS_WITH(open_file_store("store", seconds), advice);
  }
  store->set("key", "value");
  CHECK(store->get("key") == "value");
}

TEST_CASE("deadlines: any number of seconds makes one, and 1000000 of them are waited for") {
  for (const double seconds : {0.0, -1.0, -1e300, 0.0 / 0.0, -1.0 / 0.0}) {
    CHECK(poll_ms_until(deadline_after(seconds)) == 0);
  }
  for (const double seconds : {1e7, 1e18, 1e300, 1.0 / 0.0}) {
    CHECK(poll_ms_until(deadline_after(seconds)) == std::numeric_limits<int>::max());
  }
  CHECK(poll_ms_until(deadline_after(1e6)) > 999'000'000);
}

TEST_CASE("store: adds of 64 clients at once are all counted, and each sum is seen once") {
  const SharedStore shared(each_kind());
  const auto sums = in_threads(shared, 64, [](Store& store, int) {
    std::vector<std::int64_t> mine;
    for (int i = 0; i < 5; ++i) mine.push_back(store.add("sum", 1));
    return mine;
  });
  std::vector<bool> seen(321);
  for (const auto& mine : sums) {
    for (const std::int64_t sum : mine) seen.at(static_cast<std::size_t>(sum)) = true;
  }
  CHECK(std::count(seen.begin(), seen.end(), true) == 320);
  CHECK(shared.join()->get("sum") == "320");
}

TEST_CASE("store: 64 clients meet, each with a key of its own, and all get all") {
  const SharedStore shared(each_kind());
  Keys keys;
  for (int i = 0; i < 64; ++i) keys.push_back("here/" + std::to_string(i));
  const auto met = in_threads(shared, 64, [&](Store& store, int i) {
    store.set(keys[static_cast<std::size_t>(i)], std::to_string(i));
    store.wait(keys, 30);
    return store.get(keys[static_cast<std::size_t>(63 - i)]) == std::to_string(63 - i);
  });
  CHECK(std::count(met.begin(), met.end(), true) == 64);
}

TEST_CASE("store: of many that want a key by compare_set exactly one has it") {
  const SharedStore shared(each_kind());
  const auto owners = in_threads(shared, 8, [](Store& store, int i) {
    return store.compare_set("owner", "", std::to_string(i));
  });
  CHECK(std::count(owners.begin(), owners.end(), owners.front()) == 8);
  CHECK(shared.join()->get("owner") == owners.front());
}

TEST_CASE("store: what is too long is refused with both sizes, and nothing changes") {
  const SharedStore shared(each_kind());
  const auto store = shared.join();
  const auto message =
      contains("key \"big\" with its value takes 1048577 bytes, more than 1048576");
  const std::string most(store_bytes_max - 3, 'x');
  CHECK_THROWS_WITH(store->set("big", most + "y"), message);
  CHECK_FALSE(store->check("big"));
  store->set("big", most);
  CHECK_THROWS_WITH(store->append("big", "y"), message);
  CHECK_THROWS_WITH(store->compare_set("big", most, most + "y"), message);
  CHECK(shared.join()->get("big") == most);
  CHECK(store->compare_set("big", most, "small") == "small");
  CHECK_THROWS_AS(store->set(std::string(3'000'000, 'k'), ""), ContractError);
}

TEST_CASE("store: a prefix store is a store of its own") {
  const SharedStore shared(each_kind());
  const auto store = shared.join();
  const auto first = with_prefix(*store, "first");
  const auto second = with_prefix(*first, "second");
  second->set("key", "deep");
  CHECK(store->get("first/second/key") == "deep");
  CHECK_FALSE(first->check("key"));
  CHECK(first->add("n", 3) == 3);
  first->append("n", "0");
  CHECK(store->get("first/n") == "30");
  CHECK(first->compare_set("n", "30", "31") == "31");
  store->set("firstly", "");
  CHECK(store->num_keys() == 3);
  CHECK(first->num_keys() == 2);
  CHECK(second->num_keys() == 1);
  CHECK(second->multi_get(Keys{"key"}) == Keys{"deep"});
  CHECK_THROWS_WITH(second->wait(Keys{"nobody"}, 0.01), contains("\"first/second/nobody\""));
  CHECK(second->delete_key("key"));
  CHECK(second->num_keys() == 0);
}
