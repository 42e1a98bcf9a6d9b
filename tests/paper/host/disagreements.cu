// What ranks do wrong together: disagreements NAME RANKS [clean].
#include <chrono>
#include <thread>

#include "tests/paper/host/ranks.cuh"

namespace {

constexpr int n = 100;

// What each case starts from: a communicator that has been used for three sums.
struct Desk {
  explicit Desk(const Rank& is) : rank(is.rank), ranks(is.ranks), comm(join(is)) {
    fill_all(x, 1, stream);
    fill_all(y, 2, stream);
    for (int i = 0; i < 3; ++i) sum();
    settle();
  }

  void sum(int elements = n, ncclRedOp_t op = ncclSum, ncclDataType_t type = ncclFloat32) {
    MUST(ncclAllReduce(x, y, elements, type, op, comm, stream));
  }
  void broadcast(int root = 0) { MUST(ncclBroadcast(x, y, n, ncclFloat32, root, comm, stream)); }
  void send(int peer, int elements = n) {
    MUST(ncclSend(x, elements, ncclFloat32, peer, comm, stream));
  }
  void receive(int peer, int elements = n) {
    MUST(ncclRecv(y, elements, ncclFloat32, peer, comm, stream));
  }
  void settle() { MUST(cudaStreamSynchronize(stream)); }
  void end() {
    settle();
    MUST(ncclCommDestroy(comm));
    free_all();
  }
  void free_all() {
    MUST(cudaFree(x));
    MUST(cudaFree(y));
    MUST(cudaStreamDestroy(stream));
  }

  int rank, ranks;
  ncclComm_t comm;
  cudaStream_t stream = new_stream();
  float *x = on_device(), *y = on_device();
};

bool is_faulty(const Desk& on, Version version) {
  return version == Version::faulty && on.rank == on.ranks - 1;
}

void other_count(Desk& on, Version version) { on.sum(is_faulty(on, version) ? 959 : 960); }

void other_type(Desk& on, Version version) {
  on.sum(n, ncclSum, is_faulty(on, version) ? ncclFloat16 : ncclFloat32);
}

void other_op(Desk& on, Version version) { on.sum(n, is_faulty(on, version) ? ncclMax : ncclSum); }

void other_root(Desk& on, Version version) { on.broadcast(is_faulty(on, version) ? 1 : 0); }

void other_order(Desk& on, Version version) {
  if (is_faulty(on, version)) {
    on.broadcast();
    on.sum();
  } else {
    on.sum();
    on.broadcast();
  }
}

template <typename Function>
void grouped(Version version, Function function) {
  if (version == Version::clean) MUST(ncclGroupStart());
  function();
  if (version == Version::clean) MUST(ncclGroupEnd());
}

void both_send(Desk& on, Version version) {
  grouped(version, [&] {
    on.send(1 - on.rank);
    on.receive(1 - on.rank);
  });
}

void both_receive(Desk& on, Version version) {
  grouped(version, [&] {
    on.receive(1 - on.rank);
    on.send(1 - on.rank);
  });
}

void ring(Desk& on, Version version) {
  grouped(version, [&] {
    on.send((on.rank + 1) % on.ranks);
    on.receive((on.rank + on.ranks - 1) % on.ranks);
  });
}

void other_message(Desk& on, Version version) {
  if (on.rank == 0) on.send(1, 8);
  if (on.rank == 1) on.receive(0, version == Version::faulty ? 9 : 8);
}

void send_meets_sum(Desk& on, Version version) {
  if (is_faulty(on, version)) {
    on.send(0);
    on.sum();
  } else {
    on.sum();
    if (on.rank == 1) on.send(0);
  }
  if (on.rank == 0) on.receive(1);
}

void ended_early(Desk& on, Version version) {
  if (!is_faulty(on, version)) on.sum();
}

void late(Desk& on, Version version) {
  // Longer than the deadline of the others, and longer by what a busy machine needs.
  if (is_faulty(on, version)) std::this_thread::sleep_for(std::chrono::seconds(6));
  if (!is_faulty(on, version)) on.sum();
}

// Two communicators on one stream, in another order on each rank.
void crossed(Desk& on, Version version) {
  ncclComm_t second = nullptr;
  MUST(ncclCommSplit(on.comm, 0, on.rank, &second, nullptr));
  const auto other = [&] {
    MUST(ncclAllReduce(on.x, on.y, n, ncclFloat32, ncclSum, second, on.stream));
  };
  if (is_faulty(on, version)) other();
  on.sum();
  if (!is_faulty(on, version)) other();
  on.settle();
  MUST(ncclCommDestroy(second));
}

void killed(Desk& on, Version version) {
  if (version == Version::faulty && on.rank == 1) raise(SIGKILL);
  on.sum();
}

void no_event(Desk& on, Version version) {
  cudaStream_t wire = new_stream();
  cudaEvent_t made = new_event();
  fill_all(on.x, 3, on.stream);
  MUST(cudaEventRecord(made, on.stream));
  if (version == Version::clean) MUST(cudaStreamWaitEvent(wire, made, 0));
  MUST(ncclAllReduce(on.x, on.x, n, ncclFloat32, ncclSum, on.comm, wire));
  MUST(cudaStreamSynchronize(wire));
  MUST(cudaEventDestroy(made));
  MUST(cudaStreamDestroy(wire));
}

void unwritten(Desk& on, Version version) {
  float* fresh = on_device();
  if (version == Version::clean) fill_all(fresh, 1, on.stream);
  MUST(ncclAllReduce(fresh, on.y, n, ncclFloat32, ncclSum, on.comm, on.stream));
  on.settle();
  MUST(cudaFree(fresh));
}

void too_small(Desk& on, Version version) {
  float* all = on_device(version == Version::clean ? 2 * count : 2 * count - 1);
  MUST(ncclAllGather(on.x, all, count, ncclFloat32, on.comm, on.stream));
  on.settle();
  MUST(cudaFree(all));
}

void to_itself(Desk& on, Version version) {
  grouped(version, [&] {
    on.send(0);
    on.receive(0);
  });
}

void of_the_host(Desk& on, Version version) {
  std::vector<float> mine(n);
  const float* const from = version == Version::faulty ? mine.data() : on.x;
  MUST(ncclAllReduce(from, on.y, n, ncclFloat32, ncclSum, on.comm, on.stream));
}

void overlap(Desk& on, Version version) {
  float* const to = version == Version::faulty ? on.x + n / 2 : on.x;
  MUST(ncclAllReduce(on.x, to, n, ncclFloat32, ncclSum, on.comm, on.stream));
}

void no_such_root(Desk& on, Version version) { on.broadcast(version == Version::faulty ? 1 : 0); }

void leaked(Desk& on, Version version) {
  if (version == Version::clean) return;
  on.settle();
  on.free_all();
  std::exit(0);
}

// Sums on and on, waits as a watchdog does, and aborts when it hears of a peer.
void watch(Desk& on) {
  ncclResult_t error = ncclSuccess;
  while (error == ncclSuccess) {
    error = ncclAllReduce(on.x, on.y, n, ncclFloat32, ncclSum, on.comm, on.stream);
    while (error == ncclSuccess && cudaStreamQuery(on.stream) == cudaErrorNotReady) {
      MUST(ncclCommGetAsyncError(on.comm, &error));
    }
  }
  EXPECT(error == ncclRemoteError);
  std::printf("%s\n", ncclGetLastError(on.comm));
  MUST(ncclCommAbort(on.comm));
  on.settle();
  on.free_all();
  std::exit(0);
}

void survive(Desk& on, Version) {
  if (on.rank == 1) raise(SIGKILL);
  watch(on);
}

// With PAPER_FAIL_COLLECTIVE=5 on every rank, where the first three were the desk's.
void injected(Desk& on, Version) { watch(on); }

// At any time, in the middle of what it does.
void struck(Desk& on, Version) {
  if (on.rank == 1) {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::microseconds(getpid() * 7919 % 20000));
      raise(SIGKILL);
    }).detach();
  }
  watch(on);
}

// The host waits for its stream, and a second thread watches and aborts.
void watchdog(Desk& on, Version) {
  if (on.rank == 1) raise(SIGKILL);
  const ncclResult_t asked = ncclAllReduce(on.x, on.y, n, ncclFloat32, ncclSum, on.comm, on.stream);
  EXPECT(asked == ncclSuccess || asked == ncclRemoteError);  // it may have been told already
  std::thread dog([&] {
    ncclResult_t error = ncclSuccess;
    while (error == ncclSuccess) MUST(ncclCommGetAsyncError(on.comm, &error));
    EXPECT(error == ncclRemoteError);
    std::printf("%s\n", ncclGetLastError(on.comm));
    MUST(ncclCommAbort(on.comm));
  });
  on.settle();
  dog.join();
  on.free_all();
  std::exit(0);
}

void aborted(Desk& on, Version) {
  if (on.rank != 1) watch(on);
  MUST(ncclCommAbort(on.comm));
  on.free_all();
  std::exit(0);
}

struct Fault {
  const char* name;
  void (*run)(Desk&, Version);
};
const Fault faults[] = {
    {"other_count", other_count},
    {"other_type", other_type},
    {"other_op", other_op},
    {"other_root", other_root},
    {"other_order", other_order},
    {"both_send", both_send},
    {"both_receive", both_receive},
    {"ring", ring},
    {"to_itself", to_itself},
    {"other_message", other_message},
    {"send_meets_sum", send_meets_sum},
    {"ended_early", ended_early},
    {"late", late},
    {"crossed", crossed},
    {"killed", killed},
    {"no_event", no_event},
    {"unwritten", unwritten},
    {"too_small", too_small},
    {"of_the_host", of_the_host},
    {"overlap", overlap},
    {"no_such_root", no_such_root},
    {"leaked", leaked},
    {"survive", survive},
    {"injected", injected},
    {"struck", struck},
    {"watchdog", watchdog},
    {"aborted", aborted},
};

}  // namespace

int main(int words, char** word) {
  const Version version =
      words > 3 && std::strcmp(word[3], "clean") == 0 ? Version::clean : Version::faulty;
  for (const Fault& fault : faults) {
    if (words < 3 || std::strcmp(word[1], fault.name) != 0) continue;
    return as_ranks(std::atoi(word[2]), [&](const Rank& is) {
      Desk on(is);
      fault.run(on, version);
      on.end();
    });
  }
  std::printf("no such case\n");
  return 2;
}
