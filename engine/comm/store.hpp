// Store: the small shared dictionary through which ranks find each other (c10d's Store). Keys and
// values are bytes. Three implementations: over TCP (tcp_store.hpp), in a file that processes share
// (file_store.hpp), and in memory, shared by threads (memory_store.hpp).
//
// Invariants, of every implementation
//   1. Each operation happens at once: nobody sees half of it, and all see one order.
//   2. No operation waits for ever. get() waits as long as the store was made with, wait() as long
//      as it is told; what the store itself takes is bounded by the former too.
//   3. Who waits for a key is woken by whatever makes it: set, add, append and compare_set.
//      (c10d's TCPStore does not wake waiters in compare_set.)
//   4. The store has no keys of its own: a new one has num_keys() == 0. (c10d's TCPStore counts an
//      internal key and starts with 1.)
//
//   Throws  CommError when a deadline passes or the store is lost: it names the operation, the key,
//           the place and the seconds. ContractError when a value cannot be kept or added to
//   Source  [PyTorch] torch/csrc/distributed/c10d/Store.hpp, TCPStore.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::comm {

// Longest key with its value. Addresses and small reports are what a store is for.
inline constexpr std::size_t store_bytes_max = std::size_t{1} << 20;

class Store {
 public:
  virtual ~Store() = default;

  virtual void set(const std::string& key, const std::string& value) = 0;
  // Waits until the key exists.
  virtual std::string get(const std::string& key) = 0;
  // Adds to the decimal number that the key holds (0 when it does not exist); returns the sum.
  //   Throws  ContractError when the key holds no number, or the sum does not fit in 64 bits
  virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;
  // Adds bytes at the end of the value, which is empty when the key does not exist.
  virtual void append(const std::string& key, const std::string& value) = 0;
  // Exists now?
  virtual bool check(const std::string& key) = 0;
  // Returns when all keys exist at once. Throws CommError naming the first missing key.
  virtual void wait(std::span<const std::string> keys, double timeout_s) = 0;

  // Sets the key to `desired` if it holds `expected`; returns what it holds afterwards. A key that
  // does not exist is made when `expected` is empty; otherwise nothing is made, and `expected`
  // comes back. So `desired` comes back exactly when the key holds it now, unless both are equal.
  virtual std::string compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired) = 0;
  // Returns whether the key existed.
  virtual bool delete_key(const std::string& key) = 0;
  std::int64_t num_keys() { return count_keys(""); }
  // How many keys begin with `prefix`.
  virtual std::int64_t count_keys(const std::string& prefix) = 0;

  // One key after the other, so others may see a part of it. Every key has get()'s deadline.
  std::vector<std::string> multi_get(std::span<const std::string> keys);
  void multi_set(std::span<const std::pair<std::string, std::string>> values);
};

// The part of `store` whose keys begin with "prefix/": a store of its own, num_keys() included.
// (c10d's PrefixStore counts all keys.) `store` must outlive it.
std::unique_ptr<Store> with_prefix(Store& store, std::string prefix);

}  // namespace lockstep::comm
