#include "engine/comm/stores/local_store.hpp"

namespace lockstep::comm {

LocalStore::LocalStore(std::string place, double timeout_s)
    : place_(std::move(place)), timeout_s_(timeout_s) {
  require_seconds("get", timeout_s);
}

void LocalStore::set(const std::string& key, const std::string& value) {
  change(key, [&](Dictionary& all) { all.set(key, value); });
}

std::string LocalStore::get(const std::string& key) {
  std::string value;
  const bool found = await(deadline_after(timeout_s_), [&](const Dictionary& all) {
    const std::string* held = all.find(key);
    if (held != nullptr) value = *held;
    return held != nullptr;
  });
  if (!found) refuse_late("get", key, place_, timeout_s_);
  return value;
}

std::int64_t LocalStore::add(const std::string& key, std::int64_t amount) {
  std::int64_t sum = 0;
  change(key, [&](Dictionary& all) { sum = all.add(key, amount); });
  return sum;
}

void LocalStore::append(const std::string& key, const std::string& value) {
  change(key, [&](Dictionary& all) { all.append(key, value); });
}

bool LocalStore::check(const std::string& key) {
  bool exists = false;
  await(deadline_after(0), [&](const Dictionary& all) {
    exists = all.find(key) != nullptr;
    return true;
  });
  return exists;
}

void LocalStore::wait(std::span<const std::string> keys, double timeout_s) {
  require_seconds("wait", timeout_s);
  std::size_t missing = 0;
  const bool found = await(deadline_after(timeout_s), [&](const Dictionary& all) {
    missing = all.first_missing(keys);
    return missing == keys.size();
  });
  if (!found) refuse_late("wait", keys[missing], place_, timeout_s);
}

std::string LocalStore::compare_set(const std::string& key, const std::string& expected,
                                    const std::string& desired) {
  std::string held;
  change(key, [&](Dictionary& all) { held = all.compare_set(key, expected, desired); });
  return held;
}

bool LocalStore::delete_key(const std::string& key) {
  bool existed = false;
  change(key, [&](Dictionary& all) { existed = all.erase(key); });
  return existed;
}

std::int64_t LocalStore::count_keys(const std::string& prefix) {
  std::int64_t keys = 0;
  await(deadline_after(0), [&](const Dictionary& all) {
    keys = all.count(prefix);
    return true;
  });
  return keys;
}

}  // namespace lockstep::comm
