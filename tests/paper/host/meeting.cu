// How the ranks of a communicator meet, split and leave: meeting NAME RANKS.
#include "tests/paper/host/ranks.cuh"

namespace {

void facts(const Rank& is) {
  ncclComm_t comm = join(is);
  int ranks = 0, rank = -1, device = -1, version = 0;
  MUST(ncclCommCount(comm, &ranks));
  MUST(ncclCommUserRank(comm, &rank));
  MUST(ncclCommCuDevice(comm, &device));
  MUST(ncclGetVersion(&version));
  EXPECT(ranks == is.ranks && rank == is.rank && device == is.rank);
  EXPECT(version == NCCL_VERSION_CODE);
  ncclResult_t error = ncclInternalError;
  MUST(ncclCommGetAsyncError(comm, &error));
  EXPECT(error == ncclSuccess);
  MUST(ncclCommFinalize(comm));
  MUST(ncclCommDestroy(comm));
}

// Two groups, the second in the reverse order; the last rank belongs to none in the second split.
void splits(const Rank& is) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  MUST(cudaSetDevice(is.rank));
  ncclComm_t comm = nullptr, half = nullptr, most = nullptr;
  MUST(ncclCommInitRankConfig(&comm, is.ranks, is.id, is.rank, &config));
  MUST(ncclCommSplit(comm, is.rank % 2, is.rank % 2 == 0 ? is.rank : -is.rank, &half, nullptr));
  int ranks = 0, rank = -1;
  MUST(ncclCommCount(half, &ranks));
  MUST(ncclCommUserRank(half, &rank));
  const int in_half = (is.ranks + 1 - is.rank % 2) / 2;
  EXPECT(ranks == in_half);
  EXPECT(rank == (is.rank % 2 == 0 ? is.rank / 2 : in_half - 1 - is.rank / 2));
  const bool last = is.rank == is.ranks - 1;
  MUST(ncclCommSplit(comm, last ? NCCL_SPLIT_NOCOLOR : 7, 0, &most, nullptr));
  EXPECT((most == nullptr) == last);
  if (most != nullptr) MUST(ncclCommDestroy(most));
  MUST(ncclCommDestroy(half));
  MUST(ncclCommDestroy(comm));
}

// All ranks in one thread of one process.
void one_process(const Rank& is) {
  ncclComm_t comms[16];
  MUST(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank) {
    MUST(cudaSetDevice(rank));
    MUST(ncclCommInitRank(&comms[rank], 3, is.id, rank));
  }
  MUST(ncclGroupEnd());
  float* x[3];
  for (int rank = 0; rank < 3; ++rank) {
    MUST(cudaSetDevice(rank));
    x[rank] = to_device(std::vector<float>(count, static_cast<float>(rank)));
  }
  MUST(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank) {
    MUST(ncclAllReduce(x[rank], x[rank], count, ncclFloat32, ncclSum, comms[rank], nullptr));
  }
  MUST(ncclGroupEnd());
  for (int rank = 0; rank < 3; ++rank) {
    MUST(cudaSetDevice(rank));
    EXPECT(to_host(x[rank], count)[7] == 3);
    MUST(cudaFree(x[rank]));
    MUST(ncclCommDestroy(comms[rank]));
  }
}

void never_comes(const Rank& is) {
  if (is.rank == 1) return;
  join(is);
}

void dies_before(const Rank& is) {
  MUST(cudaSetDevice(is.rank));
  ncclComm_t comm = nullptr;
  if (is.rank == 1) std::exit(0);
  // The others see it as one that never comes: it had no seat.
  EXPECT(ncclCommInitRank(&comm, is.ranks, is.id, is.rank) == ncclRemoteError);
  EXPECT(comm == nullptr);
}

void twice(const Rank& is) {
  MUST(cudaSetDevice(is.rank));
  ncclComm_t comm = nullptr;
  EXPECT(ncclCommInitRank(&comm, is.ranks, is.id, 0) == ncclInvalidUsage);
}

void one_gpu(const Rank& is) {
  ncclComm_t comm = nullptr;
  EXPECT(ncclCommInitRank(&comm, is.ranks, is.id, is.rank) == ncclInvalidUsage);
}

void other_size(const Rank& is) {
  MUST(cudaSetDevice(is.rank));
  ncclComm_t comm = nullptr;
  EXPECT(ncclCommInitRank(&comm, is.ranks + is.rank, is.id, is.rank) == ncclInvalidUsage);
}

void destroyed_before(const Rank& is) {
  ncclComm_t comm = join(is);
  MUST(ncclCommDestroy(comm));
  int ranks = 0;
  EXPECT(ncclCommCount(comm, &ranks) == ncclInvalidArgument);
}

void no_id(const Rank& is) {
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  EXPECT(ncclCommInitRank(&comm, 1, id, 0) == ncclInvalidArgument);
}

struct Named {
  const char* name;
  void (*body)(const Rank&);
};
const Named cases[] = {
    {"facts", facts},
    {"splits", splits},
    {"one_process", one_process},
    {"never_comes", never_comes},
    {"dies_before", dies_before},
    {"twice", twice},
    {"one_gpu", one_gpu},
    {"other_size", other_size},
    {"destroyed_before", destroyed_before},
    {"no_id", no_id},
};

}  // namespace

int main(int words, char** word) {
  for (const Named& one : cases) {
    if (words > 2 && std::strcmp(word[1], one.name) == 0) {
      return as_ranks(std::atoi(word[2]), one.body);
    }
  }
  std::printf("no such case\n");
  return 2;
}
