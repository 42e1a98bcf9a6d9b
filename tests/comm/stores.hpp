// The stores that one suite runs over: each kind, and the part under a prefix of each kind.
#pragma once

#include <memory>
#include <string>

#include "engine/comm/stores/file_store.hpp"
#include "engine/comm/stores/memory_store.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "tests/checkpoint/folder.hpp"

namespace lockstep::test {

enum class Kind { tcp, file, memory };

// One dictionary, and as many users of it as are asked for.
class SharedStore {
 public:
  explicit SharedStore(Kind kind, double timeout_s = 30) : kind_(kind), timeout_s_(timeout_s) {
    if (kind == Kind::tcp) server_ = std::make_unique<comm::StoreServer>();
    if (kind == Kind::memory) memory_ = comm::make_memory_store(timeout_s);
  }

  // A client of its own; threads that share memory share the one object.
  std::shared_ptr<comm::Store> join() const {
    if (kind_ == Kind::memory) return memory_;
    if (kind_ == Kind::file) return comm::open_file_store(folder_ / "store", timeout_s_);
    return comm::connect_store(server_->host(), server_->port(), timeout_s_);
  }

  // How its errors name it.
  std::string place() const {
    if (kind_ == Kind::memory) return "in this process";
    if (kind_ == Kind::file) return "in the file " + (folder_ / "store").string();
    return "at 127.0.0.1:" + std::to_string(server_->port());
  }

 private:
  Kind kind_;
  double timeout_s_;
  Folder folder_;
  std::unique_ptr<comm::StoreServer> server_;
  std::shared_ptr<comm::Store> memory_;
};

}  // namespace lockstep::test
