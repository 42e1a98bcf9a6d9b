// The TCP store among clients that misbehave, and without its server.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/comm/stores/store_protocol.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "tests/catch.hpp"
#include "tests/comm/silent_port.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;

namespace {

std::unique_ptr<Store> client_of(const StoreServer& server, double timeout_s = 30) {
  return connect_store(server.host(), server.port(), timeout_s);
}

Descriptor raw_client_of(const StoreServer& server) {
  return connect_to(server.host(), server.port(), deadline_after(30));
}

// Sends raw bytes as no client of ours would, and returns what comes back until the end.
std::string converse(const Descriptor& raw, const std::string& bytes) {
  send(raw.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  shutdown(raw.get(), SHUT_WR);
  std::string all;
  std::array<char, 65536> part{};
  while (true) {
    const ssize_t got = recv(raw.get(), part.data(), part.size(), 0);
    if (got > 0) all.append(part.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN)) return all;
  }
}

std::string converse(const StoreServer& server, const std::string& bytes) {
  return converse(raw_client_of(server), bytes);
}

Bytes check_of(const std::string& key) {
  return ByteWriter().put(protocol::Command::check).put_text(key).take();
}

// A whole frame around a body.
std::string frame(const Bytes& body) {
  std::string bytes(sizeof(std::uint32_t), '\0');
  const auto size = static_cast<std::uint32_t>(body.size());
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes.append(reinterpret_cast<const char*>(body.data()), body.size());
}

}  // namespace

TEST_CASE("tcp store: garbage costs its sender the connection and disturbs nobody") {
  const StoreServer server;
  const auto store = client_of(server);
  store->set("key", "value");
  CHECK(converse(server, "GET / HTTP/1.1\r\n\r\n").empty());          // an impossible length
  CHECK(converse(server, std::string("\x01\0\0\0\x77", 5)).empty());  // no such command
  CHECK(converse(server, std::string("\x09\0\0\0\x01", 5)).empty());  // half a frame
  CHECK(converse(server, std::string("\x01\0\0\0\0", 5)).empty());    // set without a key
  CHECK(converse(server, std::string("\0\0\0\0", 4)).empty());        // no command at all
  // A get whose key claims 2^60 bytes.
  std::string liar("\x12\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10", 22);
  CHECK(converse(server, liar).empty());
  using protocol::Command;
  CHECK(converse(server, frame(ByteWriter().put(Command::wait).put(0.0 / 0.0).take())).empty());
  CHECK(converse(server, frame(ByteWriter().put(Command::wait).put(1.0).take())).empty());
  CHECK(store->get("key") == "value");
}

TEST_CASE(
    "tcp store: every prefix of a good request, sent by a client that then dies, is harmless") {
  const StoreServer server;
  const auto store = client_of(server);
  using protocol::Command;
  const std::string whole = frame(
      ByteWriter().put(Command::compare_set).put_text("key").put_text("").put_text("value").take());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK(converse(server, whole.substr(0, size)).empty());
  }
  CHECK_FALSE(store->check("key"));
  CHECK_FALSE(converse(server, whole).empty());
  CHECK(store->get("key") == "value");
}

TEST_CASE("tcp store: clients that die while they wait are forgotten") {
  const StoreServer server;
  const auto store = client_of(server);
  using protocol::Command;
  const std::string wait = frame(ByteWriter().put(Command::get).put(1000.0).put_text("key").take());
  for (int i = 0; i < 20; ++i) {
    const Descriptor raw = raw_client_of(server);
    send(raw.get(), wait.data(), wait.size(), MSG_NOSIGNAL);
  }
  store->set("key", "value");
  CHECK(store->get("key") == "value");
}

TEST_CASE("tcp store: a client that asks and does not read keeps nobody waiting") {
  const StoreServer server;
  const auto store = client_of(server);
  const std::string big(1'000'000, 'x');
  store->set("big", big);
  const Descriptor greedy = raw_client_of(server);
  std::string requests;
  for (int i = 0; i < 30; ++i) {
    requests += frame(ByteWriter()
                          .put(protocol::Command::compare_set)
                          .put_text("big")
                          .put_text("other")
                          .put_text("")
                          .take());
  }
  send(greedy.get(), requests.data(), requests.size(), MSG_NOSIGNAL);
  CHECK(store->add("sum", 1) == 1);
  CHECK(client_of(server)->get("big") == big);
  const std::size_t answer_bytes = 4 + 1 + 8 + big.size();
  CHECK(converse(greedy, "").size() == 30 * answer_bytes);  // late, and whole
}

TEST_CASE("tcp store: a server out of descriptors serves whom it has, and newcomers later") {
  const StoreServer server;
  const auto store = client_of(server);
  store->set("key", "value");
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  // The newcomer's end of the connection is the last descriptor that can be had.
  const int last = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)).get();
  const rlimit one_more{static_cast<rlim_t>(last) + 1, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &one_more);
  const Descriptor newcomer = raw_client_of(server);
  CHECK(store->get("key") == "value");
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK_FALSE(converse(newcomer, frame(check_of("key"))).empty());
}

TEST_CASE("tcp store: a port in use is named, with what to type") {
  const StoreServer server;
  CHECK_THROWS_WITH(StoreServer(server.port()),
                    contains(text("port ", server.port(), " on 127.0.0.1 is in use")) &&
                        contains("pass --port 0 for a free one"));
}

TEST_CASE("tcp store: a server that is not there or has gone is named") {
  const lockstep::test::SilentPort silent;
  std::unique_ptr<Store> orphan;
  std::future<std::string> waiting;
  {
    const StoreServer server;
    orphan = client_of(server);
    waiting =
        std::async(std::launch::async, [store = client_of(server)] { return store->get("never"); });
  }
  CHECK_THROWS_WITH(connect_store("127.0.0.1", silent.number(), 0.05),
                    contains(text("nobody answers at 127.0.0.1:", silent.number())));
  CHECK_THROWS_WITH(orphan->get("key"), contains("key \"key\"") && contains("probably ended"));
  CHECK_THROWS_WITH(orphan->num_keys(), contains("lost before"));
  CHECK_THROWS_AS(waiting.get(), CommError);
}
