// The three services. Their arguments come from players and are read with the same distrust as
// frames: a malformed one throws Error, which fails that request alone.
#include "engine/sim/core/services.hpp"

#include <algorithm>
#include <charconv>

#include "engine/base/error.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::sim {

namespace {

StoreCall read_store_call(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  StoreCall call;
  call.kind = in.get<StoreCall::Kind>();
  if (call.kind > StoreCall::Kind::count_keys) throw Error("the store has no such call");
  call.key = in.get_text();
  call.value = in.get_text();
  call.expected = in.get_text();
  call.amount = in.get<std::int64_t>();
  call.timeout_s = in.get<double>();
  if (!(call.timeout_s >= 0)) throw Error("the store's timeout must not be negative");
  while (!in.done()) call.keys.push_back(in.get_text());
  return call;
}

Payload payload_of_text(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return payload_of({bytes.begin(), bytes.end()});
}

template <typename T>
Payload payload_of_value(T value) {
  ByteWriter out;
  out.put(value);
  return payload_of(out.take());
}

std::int64_t number_in(const std::string& key, const std::string& digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw Error(text("store: add to '", printable(key, 80), "', which holds '",
                     printable(digits, 80), "', not a number"));
  }
  return value;
}

}  // namespace

Bytes bytes_of(const StoreCall& call) {
  ByteWriter out;
  out.put(call.kind).put_text(call.key).put_text(call.value).put_text(call.expected);
  out.put(call.amount).put(call.timeout_s);
  for (const auto& key : call.keys) out.put_text(key);
  return out.take();
}

std::optional<Service::Answer> StoreService::serve(const Actor& who, const Request& request,
                                                   double now) {
  StoreCall call = read_store_call(request.data.bytes);
  auto answered = answer(call);
  if (!answered) return std::nullopt;
  log_.push_back({who.rank, std::move(call), now + call_s_});
  return Answer{std::move(*answered), now + call_s_};
}

double StoreService::deadline_s(const Request& request, double asked_s) const {
  return asked_s + read_store_call(request.data.bytes).timeout_s;
}

Service::Answer StoreService::expire(const Actor& who, const Request& request, double now) {
  StoreCall call = read_store_call(request.data.bytes);
  const std::string message = text("no rank set key \"", printable(*missing_key(call), 80),
                                   "\" within ", call.timeout_s, " s");
  log_.push_back({who.rank, std::move(call), now});
  throw Error(message);
}

// The first missing key among those that a get or wait needs.
const std::string* StoreService::missing_key(const StoreCall& call) const {
  const auto missing = [&](const std::string& key) { return !values_.contains(key); };
  if (call.kind == StoreCall::Kind::get) return missing(call.key) ? &call.key : nullptr;
  const auto found = std::find_if(call.keys.begin(), call.keys.end(), missing);
  return found == call.keys.end() ? nullptr : &*found;
}

std::optional<Payload> StoreService::answer(const StoreCall& call) {
  using Kind = StoreCall::Kind;
  const auto entry = values_.find(call.key);
  const bool there = entry != values_.end();
  switch (call.kind) {
    case Kind::set:
      values_[call.key] = call.value;
      return Payload{};
    case Kind::append:
      values_[call.key] += call.value;
      return Payload{};
    case Kind::get:
      return there ? std::optional(payload_of_text(entry->second)) : std::nullopt;
    case Kind::wait:
      return missing_key(call) ? std::nullopt : std::optional(Payload{});
    case Kind::check:
      return payload_of_value<std::uint8_t>(there);
    case Kind::delete_key:
      if (there) values_.erase(entry);
      return payload_of_value<std::uint8_t>(there);
    case Kind::compare_set:
      return payload_of_text(compared_and_set(call));
    case Kind::count_keys:
      return payload_of_value<std::int64_t>(
          std::count_if(values_.begin(), values_.end(),
                        [&](const auto& value) { return value.first.rfind(call.key, 0) == 0; }));
    case Kind::add:
      break;
  }
  return payload_of_value(added(call));
}

std::int64_t StoreService::added(const StoreCall& call) {
  const auto entry = values_.find(call.key);
  std::int64_t sum = entry == values_.end() ? 0 : number_in(call.key, entry->second);
  if (__builtin_add_overflow(sum, call.amount, &sum)) {
    throw Error(text("store: add to '", printable(call.key, 80), "' exceeds 64 bits"));
  }
  values_[call.key] = std::to_string(sum);
  return sum;
}

std::string StoreService::compared_and_set(const StoreCall& call) {
  const auto entry = values_.find(call.key);
  if (entry == values_.end() && !call.expected.empty()) return call.expected;
  if (entry != values_.end() && entry->second != call.expected) return entry->second;
  values_[call.key] = call.value;
  return call.value;
}

ItemService::ItemService(std::string name, std::vector<Bytes> items, double seconds)
    : name_(std::move(name)), seconds_(seconds) {
  for (auto& item : items) items_.push_back(payload_of(std::move(item)));
}

std::optional<Service::Answer> ItemService::serve(const Actor& who, const Request& request,
                                                  double now) {
  ByteReader in(request.data.bytes);
  const auto index = in.get<std::int64_t>();
  if (index < 0 || std::cmp_greater_equal(index, items_.size())) {
    throw Error(text(name_, ": rank ", who.rank, " asks for item ", index, "; there are ",
                     items_.size(), ", numbered from 0"));
  }
  asked_.push_back({who.rank, index});
  return Answer{items_[static_cast<std::size_t>(index)], now + seconds_};
}

EventService::EventService(std::string name, std::vector<std::vector<Event>> by_rank)
    : name_(std::move(name)), by_rank_(std::move(by_rank)), asked_s_(by_rank_.size()) {}

std::optional<Service::Answer> EventService::serve(const Actor& who, const Request&, double now) {
  const auto rank = static_cast<std::size_t>(who.rank);
  const std::size_t taken = rank < by_rank_.size() ? asked_s_[rank].size() : 0;
  if (rank >= by_rank_.size() || taken == by_rank_[rank].size()) {
    throw Error(text(name_, ": rank ", who.rank, " waits for event ", taken + 1, ", but has only ",
                     taken, "; nothing more will happen"));
  }
  asked_s_[rank].push_back(now);
  const Event& event = by_rank_[rank][taken];
  return Answer{payload_of(event.data), event.at_s};
}

}  // namespace lockstep::sim
