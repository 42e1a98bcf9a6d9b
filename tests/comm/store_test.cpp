// The TCP store: c10d's semantics, deadlines that name what is missing, and clients that misbehave.
#include <sys/socket.h>

#include <future>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/tcp_store.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;

namespace {

std::unique_ptr<Store> client_of(const StoreServer& server, double timeout_s = 10) {
  return connect_store(server.host(), server.port(), timeout_s);
}

// Sends raw bytes as no client of ours would, and returns what comes back until the end.
std::string converse(const StoreServer& server, const std::string& bytes) {
  const Descriptor raw = connect_to(server.host(), server.port(), deadline_after(10));
  send(raw.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  shutdown(raw.get(), SHUT_WR);
  std::string all;
  char part[256];
  while (true) {
    const ssize_t got = recv(raw.get(), part, sizeof part, 0);
    if (got > 0) all.append(part, static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN)) return all;
  }
}

}  // namespace

TEST_CASE("store: what one client sets, another gets") {
  const StoreServer server;
  const auto one = client_of(server);
  const auto two = client_of(server);
  one->set("name", "value");
  CHECK(two->get("name") == "value");
  two->set("name", std::string("with\0byte", 9));
  CHECK(one->get("name") == std::string("with\0byte", 9));
  one->set("empty", "");
  CHECK(two->get("empty").empty());
}

TEST_CASE("store: add keeps decimal text and returns the new value") {
  const StoreServer server;
  const auto store = client_of(server);
  CHECK(store->add("a", 5) == 5);
  CHECK(store->add("a", -2) == 3);
  CHECK(store->get("a") == "3");
  store->set("b", "40");
  CHECK(store->add("b", 2) == 42);
  store->set("word", "seven");
  CHECK_THROWS_WITH(store->add("word", 1), contains("\"word\"") && contains("holds \"seven\""));
  store->set("edge", "9223372036854775807");
  CHECK_THROWS_AS(store->add("edge", 1), ContractError);
  CHECK(store->get("edge") == "9223372036854775807");
}

TEST_CASE("store: check tells whether a key exists and does not wait") {
  const StoreServer server;
  const auto store = client_of(server);
  CHECK_FALSE(store->check("later"));
  store->set("later", "");
  CHECK(store->check("later"));
}

TEST_CASE("store: get and wait return when another client sets the key") {
  const StoreServer server;
  const auto setter = client_of(server);
  auto got = std::async(std::launch::async, [&] { return client_of(server)->get("slow"); });
  auto waited = std::async(std::launch::async, [&] {
    const std::vector<std::string> keys{"slow", "count"};
    client_of(server)->wait(keys, 10);
  });
  setter->add("count", 1);
  setter->set("slow", "here");
  CHECK(got.get() == "here");
  CHECK_NOTHROW(waited.get());
}

TEST_CASE("store: a deadline names the first missing key, the address and the seconds") {
  const StoreServer server;
  const auto store = client_of(server, 0.05);
  store->set("present", "1");
  const std::vector<std::string> keys{"present", "absent", "absent too"};
  const auto place = contains(text("127.0.0.1:", server.port()));
  CHECK_THROWS_WITH(store->wait(keys, 0.02), contains("\"absent\"") && contains("0.02 s") && place);
  CHECK_THROWS_WITH(store->get("never"), contains("\"never\"") && contains("0.05 s") && place);
  CHECK(store->get("present") == "1");  // the connection is as good as before
}

TEST_CASE("store: adds of many clients are all counted") {
  const StoreServer server;
  std::vector<std::future<void>> clients;
  for (int client = 0; client < 8; ++client) {
    clients.push_back(std::async(std::launch::async, [&] {
      const auto store = client_of(server);
      for (int i = 0; i < 50; ++i) store->add("sum", 1);
    }));
  }
  for (auto& client : clients) client.get();
  CHECK(client_of(server)->get("sum") == "400");
}

TEST_CASE("store: a prefix store keeps its keys apart") {
  const StoreServer server;
  const auto store = client_of(server);
  const auto first = with_prefix(*store, "first");
  const auto second = with_prefix(*first, "second");
  second->set("key", "deep");
  CHECK(store->get("first/second/key") == "deep");
  CHECK_FALSE(first->check("key"));
  CHECK(first->add("n", 3) == 3);
  CHECK(store->get("first/n") == "3");
  const std::vector<std::string> keys{"nobody"};
  CHECK_THROWS_WITH(second->wait(keys, 0.01), contains("\"first/second/nobody\""));
}

TEST_CASE("store: a client that sends garbage or dies in mid-sentence disturbs nobody") {
  const StoreServer server;
  const auto store = client_of(server);
  store->set("key", "value");
  CHECK(converse(server, "GET / HTTP/1.1\r\n\r\n").empty());          // an impossible length
  CHECK(converse(server, std::string("\x01\0\0\0\x77", 5)).empty());  // no such command
  CHECK(converse(server, std::string("\x09\0\0\0\x01", 5)).empty());  // half a frame
  CHECK(converse(server, std::string("\x01\0\0\0\0", 5)).empty());    // set without a key
  // A get whose key claims 2^60 bytes.
  std::string liar("\x12\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10", 22);
  CHECK(converse(server, liar).empty());
  CHECK(store->get("key") == "value");
}

TEST_CASE("store: a value too long for the store is refused in one sentence") {
  const StoreServer server;
  const auto store = client_of(server);
  CHECK_THROWS_WITH(store->set("big", std::string(2'000'000, 'x')),
                    contains("\"big\"") && contains("2000020 bytes"));
  CHECK_FALSE(store->check("big"));
}

TEST_CASE("store: a port in use is named, with what to type") {
  const StoreServer server;
  CHECK_THROWS_WITH(StoreServer(server.port()),
                    contains(text("port ", server.port(), " on 127.0.0.1 is in use")) &&
                        contains("pass --port 0 for a free one"));
}

TEST_CASE("store: a server that is not there or has gone is named") {
  int port = 0;
  std::unique_ptr<Store> orphan;
  {
    const StoreServer server;
    port = server.port();
    orphan = client_of(server);
  }
  CHECK_THROWS_WITH(connect_store("127.0.0.1", port, 0.05),
                    contains(text("nobody answers at 127.0.0.1:", port)));
  CHECK_THROWS_WITH(orphan->get("key"), contains("key \"key\"") && contains("probably ended"));
}
