// Storage that the judge owns, as a player uses it, without a wall between them.
#include "grader/exam/lives/storage_service.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using checkpoint::CheckpointError;

namespace {

// Asks the service at once, at the time that the last answer came.
class DirectPort final : public sim::Port {
 public:
  explicit DirectPort(StorageService& service, int rank = 0) : service_(service), rank_(rank) {}
  using sim::Port::call;
  sim::Reply call(const sim::Request& request) override {
    sim::Actor who;
    who.rank = rank_;
    sim::Reply reply;
    try {
      auto answer = static_cast<sim::Service&>(service_).serve(who, request, now_);
      now_ = answer->at;
      reply.data = std::move(answer->data);
    } catch (const Error& error) {
      reply.status = sim::Status::failed;
      reply.error = error.what();
    }
    return reply;
  }

 private:
  StorageService& service_;
  int rank_;
  double now_ = 0;
};

struct Served {
  explicit Served(StoragePrice price = {}) : service(price) { service.begin({}); }
  StorageService service;
  DirectPort port{service};
  ServedStorage storage{port};

  void write(const std::string& file, std::string_view content) {
    storage.write(file, 0, std::as_bytes(std::span(content)));
  }
  std::string read(const std::string& file) {
    return checkpoint::read_text(storage, file, 1 << 20);
  }
  std::int64_t calls_until(LifeEnd end) {  // a file is written as checkpoints write it
    service.begin(std::move(end));
    try {
      write("a/new.tmp", "newer");
      storage.sync("a/new.tmp");
      storage.rename("a/new.tmp", "a/new");
      storage.sync("a");
    } catch (const sim::WorldEnds&) {
      CHECK(service.has_ended());
    }
    return service.calls();
  }
};

}  // namespace

TEST_CASE("served storage: what was written is read, listed, renamed and removed") {
  Served served;
  checkpoint::Storage& storage = served.storage;
  storage.make("a/b");
  served.write("a/b/c", "hello");
  CHECK(served.read("a/b/c") == "hello");
  CHECK(storage.told("a/b/c") == "storage:a/b/c");
  storage.rename("a/b/c", "a/d");
  const auto names = storage.list("a");
  REQUIRE(names.size() == 2);
  CHECK(names[0].kind == checkpoint::StoredKind::folder);
  CHECK(names[1].name == "d");
  CHECK(names[1].bytes == 5);
  storage.remove("a/d");
  CHECK(storage.list("a").size() == 1);
  const std::vector<std::byte> large((2 << 20) + 3, std::byte{7});
  storage.write("large", 0, large);
  std::vector<std::byte> back(large.size());
  storage.read("large", 0, back);
  CHECK(back == large);
}

TEST_CASE("served storage: calls take their time, one after the other, and are logged") {
  Served served({.call_s = 1, .byte_s = 0.5});
  DirectPort other(served.service, 3);
  ServedStorage its(other);
  served.write("a", "four");
  std::vector<std::byte> two(2);
  its.read("a", 1, two);
  const auto& log = served.service.log();
  REQUIRE(log.size() == 2);
  CHECK(log[0].until_s == 3);
  CHECK(log[0].bytes == 4);
  CHECK(log[1].who.rank == 3);
  CHECK(log[1].at_s == 0);
  CHECK(log[1].until_s == 5);
  CHECK(log[1].kind == StorageCall::Kind::read);
  CHECK(log[1].offset == 1);
}

TEST_CASE(
    "served storage: what the storage refuses is a CheckpointError, what the judge does not") {
  Served served;
  CHECK_THROWS_AS(served.storage.sync("nothing"), CheckpointError);
  CHECK(served.service.log().back().refused);
  served.service.begin({.refused = {1}});
  served.write("a", "1");
  CHECK_THROWS_AS(served.write("a", "2"), CheckpointError);
  CHECK(served.read("a") == "1");
  served.service.begin({.full_after = 1});
  served.write("a", "3");
  CHECK_THROWS_AS(served.storage.rename("a", "b"), CheckpointError);
  served.storage.remove("a");
  CHECK(served.storage.list("").empty());

  const auto refused = [&](const auto& call) {
    try {
      call();
      return std::string("nothing");
    } catch (const CheckpointError&) {
      return std::string("CheckpointError");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  served.service.begin({});
  for (const char* name : {"/a", "a/", "a//b", "../a", "a/../b", "a b", "a\n"}) {
    CHECK_THAT(refused([&] { served.storage.sync(name); }), test::contains("has names such as"));
  }
  CHECK_THAT(refused([&] { served.storage.sync(std::string(201, 'a')); }),
             test::contains("200 characters"));
  const std::vector<std::byte> one(1);
  CHECK_THAT(refused([&] { served.storage.write("a", ~std::uint64_t{0}, one); }),
             test::contains("no file of the case has a byte"));
  CHECK_THAT(refused([&] {
               for (int i = 0; i < 3; ++i) served.storage.write(text("f", i), 30 << 20, one);
             }),
             test::contains("more than 64 MiB"));
  Served other;
  CHECK_THAT(refused([&] {
               while (true) other.storage.list("");
             }),
             test::contains("5000 calls"));
}

TEST_CASE("served storage: a life ends at a call, and half a write is done") {
  Served served;
  served.storage.make("a");
  served.write("a/new", "older");
  CHECK(served.calls_until({.after_calls = 0}) == 0);
  CHECK(served.service.log_of(0).size() == 2);
  CHECK(served.service.log_of(1).empty());
  served.service.begin({});
  CHECK(served.read("a/new.tmp") == "ne");
  CHECK(served.calls_until({.after_calls = 3}) == 3);
  served.service.begin({});
  CHECK(served.read("a/new") == "newer");
}

TEST_CASE("served storage: with the power goes what is not synced, however the life ended") {
  const auto left = [](std::int64_t after, checkpoint::PowerCut power) {
    Served served;
    served.storage.make("a");
    served.write("a/new", "older");
    for (const char* name : {"a/new", "a", ""}) served.storage.sync(name);
    served.calls_until({.after_calls = after, .power = power});
    served.service.begin({});
    return served.read("a/new");
  };
  using checkpoint::PowerCut;
  CHECK(left(2, PowerCut::loses_bytes) == "older");
  CHECK(left(3, PowerCut::loses_bytes) == "newer");
  CHECK(left(3, PowerCut::loses_names_and_bytes) == "older");
  CHECK(left(LifeEnd::never, PowerCut::loses_names_and_bytes) == "newer");
  Served served;
  served.service.begin({.power = PowerCut::loses_names_and_bytes});
  served.write("a", "returned, and not synced");
  served.service.begin({});
  CHECK(served.storage.list("").empty());
}

TEST_CASE("served storage: who watches may change the files behind a call") {
  Served served;
  served.service.watch([&](const StorageEvent& event) {
    if (event.kind == StorageCall::Kind::sync) served.service.files().remove(event.name);
  });
  served.write("a", "1");
  served.storage.sync("a");
  CHECK(served.storage.list("").empty());
}
