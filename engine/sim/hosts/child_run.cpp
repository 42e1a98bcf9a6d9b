#include "engine/sim/hosts/child_run.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>

#include "engine/base/error.hpp"
#include "engine/sim/hosts/child_process.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::sim {

namespace {

struct Shared {
  LastSign sign;
  std::array<char, 1024> idle{};  // the watchdog's sentence, or empty
  bool over = false;              // body has returned
};

struct Unmap {
  void operator()(Shared* shared) const { munmap(shared, sizeof *shared); }
};

std::unique_ptr<Shared, Unmap> make_shared_memory() {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("cannot share memory with a child process");
  return std::unique_ptr<Shared, Unmap>(new (memory) Shared);
}

void flush() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

[[noreturn]] void be_the_child(Shared& shared, double idle_s,
                               const std::function<int(const FiberOptions&)>& body, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(1);  // it has ended meanwhile
  FiberOptions fibers;
  fibers.idle_s = idle_s;
  fibers.last_sign = &shared.sign;
  fibers.on_idle = [&shared](const Finding& finding) {
    const auto length = std::min(finding.message.size(), shared.idle.size() - 1);
    std::memcpy(shared.idle.data(), finding.message.data(), length);
    std::_Exit(1);
  };
  const int code = body(fibers);
  flush();
  shared.over = true;
  std::_Exit(code);
}

Finding finding_of(const Shared& shared, int status) {
  const int rank = shared.sign.rank();
  if (shared.idle[0] != '\0') {
    return {FindingKind::time, shared.idle.data(), {rank}, shared.sign.place()};
  }
  if (rank < 0) {
    Finding finding = end_of_process(0, status);
    return {FindingKind::infrastructure,
            "the simulation ended while no rank was running; " + finding.message,
            {},
            {}};
  }
  Finding finding = end_of_process(rank, status);
  finding.where = shared.sign.place();
  if (!finding.where.empty()) finding.message += "; its last call was at " + finding.where;
  return finding;
}

}  // namespace

void LastSign::runs(int rank, const std::string& file, int line) {
  const std::size_t begin = file.size() - std::min(file.size(), kept_.size() - 1);
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const char letter = begin + i < file.size() ? file[begin + i] : '\0';
    kept_[i].store(letter, std::memory_order_relaxed);
    if (letter == '\0') break;
  }
  runs(rank, nullptr, line);
}

std::string LastSign::place() const {
  if (const char* file = file_.load(std::memory_order_relaxed)) {
    return place_of(file, line_.load(std::memory_order_relaxed));
  }
  std::string file;
  for (const auto& letter : kept_) {
    const char kept = letter.load(std::memory_order_relaxed);
    if (kept == '\0') break;
    file += kept;
  }
  return place_of(file, line_.load(std::memory_order_relaxed));
}

ChildRun run_in_child(const std::function<int(const FiberOptions&)>& body, double idle_s) {
  const auto shared = make_shared_memory();
  flush();  // what is buffered would be printed twice
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw Error(text("cannot start a child process: ", std::strerror(errno)));
  if (child == 0) be_the_child(*shared, idle_s, body, parent);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (shared->over && WIFEXITED(status)) return {WEXITSTATUS(status), std::nullopt};
  return {1, finding_of(*shared, status)};
}

}  // namespace lockstep::sim
