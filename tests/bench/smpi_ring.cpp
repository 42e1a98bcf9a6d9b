// The SMPI side of ./lab bench sim: the ring all-reduce of solutions/06_all_reduce written for MPI,
// with the same chunks and the same messages. It is compiled by smpicxx when it is asked for, and
// nothing else uses SimGrid.
//   smpirun -np N … smpi_ring COUNT
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long count = argc > 1 ? std::atol(argv[1]) : 1024;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  std::vector<float> data(static_cast<std::size_t>(count), 1.0F);
  std::vector<float> room(static_cast<std::size_t>((count + size - 1) / size));

  const auto index = [&](int chunk) { return static_cast<long>((chunk + size) % size); };
  const auto first = [&](int chunk) { return index(chunk) * count / size; };
  const auto length = [&](int chunk) {
    return static_cast<int>((index(chunk) + 1) * count / size - first(chunk));
  };
  const auto pass = [&](int sent, float* to, int received) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (length(sent) > 0) {
      MPI_Isend(data.data() + first(sent), length(sent), MPI_FLOAT, right, 0, MPI_COMM_WORLD,
                &request);
    }
    if (received > 0) {
      MPI_Recv(to, received, MPI_FLOAT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  for (int step = 0; step < size - 1; ++step) {
    const int mine = rank - step - 1;
    pass(rank - step, room.data(), length(mine));
    for (int i = 0; i < length(mine); ++i) data[first(mine) + i] += room[i];
  }
  for (int step = 0; step < size - 1; ++step) {
    pass(rank + 1 - step, data.data() + first(rank - step), length(rank - step));
  }
  for (const float value : data) {
    if (value == static_cast<float>(size)) continue;
    std::fprintf(stderr, "smpi_ring: rank %d holds %g, not %d\n", rank, value, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
