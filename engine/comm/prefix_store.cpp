// Operations of a store on several keys, and the stores whose keys begin with a prefix.
#include "engine/comm/store.hpp"

namespace lockstep::comm {

namespace {

class PrefixStore final : public Store {
 public:
  PrefixStore(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  void set(const std::string& key, const std::string& value) override {
    store_.set(full(key), value);
  }
  std::string get(const std::string& key) override { return store_.get(full(key)); }
  std::int64_t add(const std::string& key, std::int64_t amount) override {
    return store_.add(full(key), amount);
  }
  void append(const std::string& key, const std::string& value) override {
    store_.append(full(key), value);
  }
  bool check(const std::string& key) override { return store_.check(full(key)); }
  void wait(std::span<const std::string> keys, double timeout_s) override {
    std::vector<std::string> all;
    for (const std::string& key : keys) all.push_back(full(key));
    store_.wait(all, timeout_s);
  }
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override {
    return store_.compare_set(full(key), expected, desired);
  }
  bool delete_key(const std::string& key) override { return store_.delete_key(full(key)); }
  std::int64_t count_keys(const std::string& prefix) override {
    return store_.count_keys(full(prefix));
  }

 private:
  std::string full(const std::string& key) const { return prefix_ + "/" + key; }
  Store& store_;
  std::string prefix_;
};

}  // namespace

std::vector<std::string> Store::multi_get(std::span<const std::string> keys) {
  std::vector<std::string> values;
  for (const std::string& key : keys) values.push_back(get(key));
  return values;
}

void Store::multi_set(std::span<const std::pair<std::string, std::string>> values) {
  for (const auto& [key, value] : values) set(key, value);
}

std::unique_ptr<Store> with_prefix(Store& store, std::string prefix) {
  return std::make_unique<PrefixStore>(store, std::move(prefix));
}

}  // namespace lockstep::comm
