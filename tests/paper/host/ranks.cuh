// What the programs of NCCL's tests share: each rank is a process of its own, forked before
// anything of CUDA is touched. The id goes to the others through a pipe.
#pragma once

#include <nccl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>

#include "tests/paper/host/common.cuh"

static inline void must(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::printf("%s: %s (%s)\n", what, ncclGetErrorString(result), ncclGetLastError(nullptr));
  std::fflush(stdout);
  std::exit(1);
}

struct Rank {
  int rank = 0, ranks = 1;
  ncclUniqueId id{};
};

static inline ncclComm_t join(const Rank& is) {
  MUST(cudaSetDevice(is.rank));
  ncclComm_t comm = nullptr;
  MUST(ncclCommInitRank(&comm, is.ranks, is.id, is.rank));
  return comm;
}

// Runs `body` as each of the ranks; the result is the largest of their exit codes, or 128 and the
// signal that ended one. Rank 0 makes the id.
static inline int as_ranks(int ranks, const std::function<void(const Rank&)>& body) {
  int pipes[16][2];
  for (int rank = 0; rank < ranks; ++rank) EXPECT(pipe(pipes[rank]) == 0);
  pid_t processes[16];
  for (int rank = 0; rank < ranks; ++rank) {
    processes[rank] = fork();
    if (processes[rank] != 0) continue;
    Rank is{rank, ranks};
    if (rank == 0) {
      MUST(ncclGetUniqueId(&is.id));
      for (int other = 1; other < ranks; ++other) {
        EXPECT(write(pipes[other][1], &is.id, sizeof is.id) == sizeof is.id);
      }
    } else {
      EXPECT(read(pipes[rank][0], &is.id, sizeof is.id) == sizeof is.id);
    }
    body(is);
    std::exit(0);
  }
  int worst = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    waitpid(processes[rank], &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    worst = code > worst ? code : worst;
  }
  return worst;
}

template <typename T>
static inline std::vector<T> to_host(const T* x, std::size_t n) {
  std::vector<T> all(n);
  MUST(cudaMemcpy(all.data(), x, n * sizeof(T), cudaMemcpyDeviceToHost));
  return all;
}

template <typename T>
static inline T* to_device(const std::vector<T>& all) {
  T* x = nullptr;
  MUST(cudaMalloc(&x, (all.size() + 1) * sizeof(T)));
  MUST(cudaMemcpy(x, all.data(), all.size() * sizeof(T), cudaMemcpyHostToDevice));
  MUST(cudaDeviceSynchronize());  // other streams do not wait for a copy from pageable memory
  return x;
}
