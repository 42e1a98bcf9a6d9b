#include "engine/comm/worlds/nccl/core.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "engine/comm/worlds/rendezvous.hpp"

namespace lockstep::comm {

NcclCore::NcclCore(Parts parts)
    : parts_(std::move(parts)),
      watchdog_(
          parts_.timeout_s, parts_.names, std::move(parts_.processes),
          [this] { return parts_.size == 1 ? std::string() : why_failed(*parts_.keys); },
          [this](const Watchdog::Finding& found) {
            fail(found.doing, found.why, found.peers_learn_s);
          }) {
  parts_.wires->when_settled([this] { check_settled(); });
}

std::unique_ptr<AbortableCommunicator> NcclCore::join(const gpu::WireId& id, int rank, int size,
                                                      int whom) {
  using Joined = std::promise<std::unique_ptr<gpu::Communicator>>;
  const auto joined = std::make_shared<Joined>();
  auto future = joined->get_future();
  // Left behind only where NCCL does not come back.
  std::thread joining([joined, wires = parts_.wires, id, rank, size] {
    try {
      joined->set_value(wires->join(id, rank, size));
    } catch (...) {
      joined->set_exception(std::current_exception());
    }
  });
  const auto began = std::chrono::steady_clock::now();
  std::string why;
  while (why.empty() &&
         future.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - began;
    if (has_failed()) {
      why = "the group has failed while NCCL joined its ranks";
    } else if (const auto ended = watchdog_.ended(whom)) {
      why = text("the process of ", names().name(*ended), " has ended; look at its last output");
    } else if (waited.count() >= parts_.timeout_s) {
      why = text("NCCL has not joined the ranks within ", parts_.timeout_s, " s");
    }
  }
  if (!why.empty()) {
    joining.detach();
    throw Error(why);
  }
  joining.join();
  auto communicator = std::make_unique<AbortableCommunicator>(future.get());
  watchdog_.watch(*communicator);
  const std::scoped_lock lock(mutex_);
  communicators_.push_back(communicator.get());
  if (aborted_) communicator->abort();
  return communicator;
}

void NcclCore::forget_communicators() {
  watchdog_.stop();
  const std::scoped_lock lock(mutex_);
  communicators_.clear();
}

void NcclCore::launch(AbortableCommunicator& communicator, const std::shared_ptr<Flight>& flight,
                      std::span<const gpu::WireCall> calls) {
  flight->launched(calls.empty() ? nullptr : communicator.ask(calls, flight->ready()));
  watchdog_.add(communicator, flight);
}

std::string NcclCore::fail(const std::string& asked, const std::string& why, double peers_learn_s) {
  const std::string failed =
      text(names().place(rank(), size()), ": ", asked.empty() ? "the group" : asked, " failed");
  const std::string doing = asked.empty() ? text("no call (rank ", rank(), ")") : asked;
  if (failure_.set(failed)) {
    const std::string said = text(failed, " [", why, "]");
    parts_.give_up_host(said);
    std::string known;
    if (parts_.size > 1) {
      say_why(*parts_.keys, said);
      known = diagnosis(keys(), rank(), size(), names(), doing, peers_learn_s);
    }
    abort_all();
    failure_.tell_more(text(failed, known, " [", why, "]"));
    const std::scoped_lock lock(mutex_);
    told_ = true;
    told_changed_.notify_all();
  }
  std::unique_lock lock(mutex_);
  told_changed_.wait(lock, [&] { return told_; });
  return failure_.cause();
}

std::exception_ptr NcclCore::failed(const std::string& doing, const std::string& why) {
  const std::string cause = fail(doing, why);
  if (cause.find(doing) != std::string::npos) return std::make_exception_ptr(CommError(cause));
  return std::make_exception_ptr(CommError(text(
      names().name(rank()), ": ", doing, " cannot run, the group has failed before: ", cause)));
}

void NcclCore::refuse_if_failed(const std::function<std::string()>& doing) {
  if (!has_failed()) return;
  {
    std::unique_lock lock(mutex_);
    told_changed_.wait(lock, [&] { return told_; });
  }
  failure_.check([&] { return text(names().name(rank()), ": ", doing()); });
}

void NcclCore::give_up(const std::string& why) {
  if (!failure_.set(why)) return;
  parts_.give_up_host(why);
  if (parts_.size > 1) {
    say_why(*parts_.keys, why);
    say_given_up(*parts_.keys, parts_.rank, why);
  }
  abort_all();
  const std::scoped_lock lock(mutex_);
  told_ = true;
  told_changed_.notify_all();
}

// All at once: what one communicator is at may wait, in the device's stream, for another one.
void NcclCore::abort_all() {
  std::vector<AbortableCommunicator*> communicators;
  {
    const std::scoped_lock lock(mutex_);
    aborted_ = true;
    communicators = communicators_;
  }
  std::vector<std::jthread> aborting;
  for (AbortableCommunicator* communicator : communicators)
    aborting.emplace_back([communicator] { communicator->abort(); });
}

void NcclCore::waited_for(std::shared_ptr<Flight> flight) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(waited_, [](const auto& earlier) { return earlier->is_checked(); });
  if (!flight->is_checked()) waited_.push_back(std::move(flight));
}

// The device has done all that it was asked for, unless something failed. So all ranks have called
// what it waited for, and have said so or are about to.
void NcclCore::check_settled() {
  std::vector<std::shared_ptr<Flight>> waited;
  {
    const std::scoped_lock lock(mutex_);
    waited.swap(waited_);
  }
  for (const auto& flight : waited) flight->wait_checked();
  if (!has_failed()) return;
  std::unique_lock lock(mutex_);
  told_changed_.wait(lock, [&] { return told_; });
  throw CommError(failure_.cause());
}

std::string reason_in(const std::string& told_by_host) {
  constexpr std::string_view mark = " failed; ";
  const auto at = told_by_host.find(mark);
  return at == std::string::npos ? told_by_host : told_by_host.substr(at + mark.size());
}

}  // namespace lockstep::comm
