// The MPI side of ./lab bench all_reduce, started by mpirun: it does what bench_all_reduce.cpp
// does, and rank 0 prints the same JSON object. It is built where MPI is found, and nothing else
// uses MPI.
//   mpi_all_reduce --sizes BYTES,… --calls K,…
#include <mpi.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "engine/apps/bench_sums.hpp"

namespace {

std::vector<std::size_t> numbers_of(const std::string& list) {
  std::vector<std::size_t> numbers;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) numbers.push_back(std::stoull(word));
  return numbers;
}

double one_call(std::vector<float>& data, int rank, int ranks) {
  lockstep::bench::write_values(data, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
  double seconds = MPI_Wtime() - began;
  if (const auto wrong = lockstep::bench::wrong_sum(data, ranks)) {
    std::fprintf(stderr, "mpi_all_reduce: rank %d: %s\n", rank, wrong->c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return seconds / ranks;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, length = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const auto sizes = numbers_of(argv[2]), calls = numbers_of(argv[4]);
  std::ostringstream rows;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<float> data(sizes[i] / sizeof(float));
    one_call(data, rank, ranks);  // the first call meets cold memory
    rows << (i == 0 ? "" : ",") << "{\"bytes\":" << sizes[i] << ",\"seconds\":[";
    for (std::size_t call = 0; call < calls[i]; ++call) {
      rows << (call == 0 ? "" : ",") << one_call(data, rank, ranks);
    }
    rows << "]}";
  }
  char about[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_library_version(about, &length);
  const std::string library(about, static_cast<std::size_t>(length));
  if (rank == 0) {
    std::printf("{\"program\":\"%s\",\"how\":\"in place\",\"calls\":[%s]}\n",
                library.substr(0, library.find_first_of(",\"\n")).c_str(), rows.str().c_str());
  }
  MPI_Finalize();
  return 0;
}
