// The children are forked before the parent starts the store's thread, so that no child inherits a
// lock that somebody holds; each reads the store's port from a pipe.
#include "tests/comm/ranks.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "engine/base/text.hpp"
#include "engine/comm/stores/tcp_store.hpp"

namespace lockstep::test {

namespace {

using comm::Descriptor;

// Of all ranks together, when they hang: a thread sanitizer, or other work on the machine, makes
// eight of them take minutes on few cores.
constexpr double limit_s = 1200;

// What the program of a rank has lost. A child ends by _exit(), which nobody looks at.
#ifdef __SANITIZE_ADDRESS__
bool leaks() { return __lsan_do_recoverable_leak_check() != 0; }
#else
bool leaks() { return false; }
#endif

struct Child {
  pid_t pid = -1;
  Descriptor port, message;  // our ends
};

std::pair<Descriptor, Descriptor> make_pipe() {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

[[noreturn]] void live(const RankStore& body, int rank, const Descriptor& port_from,
                       const Descriptor& message_to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int code = 0;
  std::string message;
  try {
    int port = 0;
    if (read(port_from.get(), &port, sizeof port) != sizeof port) throw Error("no port");
    const auto store = comm::connect_store("127.0.0.1", port);
    message = body(*store, rank);
  } catch (const std::exception& error) {
    message = error.what();
    code = 1;
  }
  if (leaks()) {
    message += " [memory was lost]";
    code = 3;
  }
  if (write(message_to.get(), message.data(), message.size()) < 0) code = 2;
  _exit(code);
}

Child start(const RankStore& body, int rank) {
  auto [port_from, port_to] = make_pipe();
  auto [message_from, message_to] = make_pipe();
  Child child;
  child.pid = fork();
  if (child.pid == 0) live(body, rank, port_from, message_to);
  child.port = std::move(port_to);
  child.message = std::move(message_from);
  return child;
}

Outcome finish(Child& child, comm::Deadline deadline) {
  Outcome outcome;
  char part[4096];
  while (true) {
    pollfd entry{child.message.get(), POLLIN, 0};
    if (poll(&entry, 1, comm::poll_ms_until(deadline)) == 0) {
      kill(child.pid, SIGKILL);
      outcome.message += " [did not end]";
      break;
    }
    const ssize_t got = read(child.message.get(), part, sizeof part);
    if (got <= 0) break;
    outcome.message.append(part, static_cast<std::size_t>(got));
  }
  int status = 0;
  waitpid(child.pid, &status, 0);
  outcome.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) outcome.message += text(" [signal ", WTERMSIG(status), "]");
  return outcome;
}

}  // namespace

std::vector<Outcome> run_processes(int ranks, const RankStore& body) {
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank) children.push_back(start(body, rank));
  const comm::StoreServer server;
  const int port = server.port();
  for (const Child& child : children) {
    if (write(child.port.get(), &port, sizeof port) < 0) throw Error("a rank ended at once");
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto deadline = comm::deadline_after(limit_s);
  std::vector<Outcome> outcomes;
  for (Child& child : children) {
    outcomes.push_back(finish(child, deadline));
    outcomes.back().seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return outcomes;
}

std::vector<Outcome> run_gloo(int ranks, const RankGroup& body, double timeout_s,
                              comm::Transport transport) {
  return run_processes(ranks, [&](comm::Store& store, int rank) {
    comm::GlooOptions options;
    options.timeout_s = timeout_s;
    options.transport = transport;
    const auto group = comm::make_gloo_group(store, rank, ranks, options);
    return body(*group);
  });
}

std::vector<Outcome> run_on_hosts(int ranks, int hosts, const RankGroup& body, double timeout_s) {
  return run_processes(ranks, [&](comm::Store& store, int rank) {
    comm::GlooOptions options;
    options.timeout_s = timeout_s;
    options.node = text(rank % hosts);
    const auto group = comm::make_gloo_group(store, rank, ranks, options);
    return body(*group);
  });
}

void expect(bool condition, const std::string& otherwise) {
  if (!condition) throw Error(otherwise);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const CommError& error) {
    return error.what();
  }
  throw Error("no CommError was thrown");
}

std::string refusal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const ContractError& error) {
    return error.what();
  }
  return "";
}

Tensor ones(std::int64_t count, DType dtype, Device& device) {
  return full({count}, 1, dtype, device);
}

std::string failures(const std::vector<Outcome>& outcomes) {
  std::string all;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (!outcomes[rank].ok) all += text("rank ", rank, ": ", outcomes[rank].message, "\n");
  }
  return all;
}

}  // namespace lockstep::test
