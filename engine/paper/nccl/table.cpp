// The file in memory, and who may touch it.
#include "engine/paper/nccl/table.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <sstream>
#include <utility>

namespace lockstep::paper {
namespace {

constexpr std::array<char, 16> magic{"paper's nccl 1"};

// Each rank's call and each pair's mail has a place of its own in the file, which is sparse.
constexpr off_t place_bytes = off_t{1} << 36;
static_assert(sizeof(SharedTable) < static_cast<std::size_t>(place_bytes));

constexpr long second_ns = 1'000'000'000, turn_ns = 20'000'000;

off_t place_of_call(int rank, std::uint64_t number) {
  return (1 + rank * 2 + static_cast<off_t>(number % 2)) * place_bytes;
}
off_t place_of_mail(int from, int to) {
  return (1 + ranks_max * 2 + from * off_t{ranks_max} + to) * place_bytes;
}

bool write_all(int file, const std::byte* from, std::size_t bytes, off_t at) {
  while (bytes > 0) {
    const ssize_t wrote = pwrite(file, from, bytes, at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    from += wrote, bytes -= static_cast<std::size_t>(wrote), at += wrote;
  }
  return true;
}

bool read_all(int file, std::byte* into, std::size_t bytes, off_t at) {
  while (bytes > 0) {
    const ssize_t got = pread(file, into, bytes, at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got, bytes -= static_cast<std::size_t>(got), at += got;
  }
  return true;
}

SharedTable* map(int file) {
  void* const at = mmap(nullptr, sizeof(SharedTable), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<SharedTable*>(at);
}

void make_robust(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  // Memory that may not be touched ends all operations of the device, within a step of one.
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

}  // namespace

Shared::~Shared() {
  if (table_ != nullptr) munmap(table_, sizeof(SharedTable));
  if (file_ >= 0) close(file_);
}

Shared::Shared(Shared&& other) noexcept
    : file_(std::exchange(other.file_, -1)), table_(std::exchange(other.table_, nullptr)) {}

Shared& Shared::operator=(Shared&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(table_, other.table_);
  return *this;
}

Shared Shared::make() {
  Shared made;
  made.file_ = memfd_create("paper-nccl", MFD_CLOEXEC);
  if (made.file_ < 0 || ftruncate(made.file_, sizeof(SharedTable)) != 0) return {};
  made.table_ = map(made.file_);
  if (made.table_ == nullptr) return {};
  auto* const table = new (made.table_) SharedTable();
  make_robust(table->mutex);
  table->place.magic = magic;
  table->place.process = getpid();
  table->place.descriptor = made.file_;
  if (getrandom(table->place.token, sizeof table->place.token, 0) < 0) return {};
  return made;
}

Shared Shared::open(const MeetingPlace& place) {
  Shared opened;
  if (place.magic != magic) return {};
  const std::string path =
      "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.descriptor);
  opened.file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  // Only what begins as our table may be mapped: the number may have been given again.
  MeetingPlace found;
  if (opened.file_ < 0 ||
      !read_all(opened.file_, reinterpret_cast<std::byte*>(&found), sizeof found, 0) ||
      std::memcmp(found.token, place.token, sizeof found.token) != 0) {
    return {};
  }
  opened.table_ = map(opened.file_);
  return opened;
}

bool Shared::put_call(int rank, std::uint64_t number, const std::byte* from,
                      std::size_t bytes) const {
  return write_all(file_, from, bytes, place_of_call(rank, number));
}

bool Shared::get_call(int rank, std::uint64_t number, std::byte* into, std::size_t bytes,
                      std::size_t skipped) const {
  return read_all(file_, into, bytes, place_of_call(rank, number) + static_cast<off_t>(skipped));
}

bool Shared::put_mail(int from, int to, const std::byte* what, std::size_t bytes) const {
  return write_all(file_, what, bytes, place_of_mail(from, to));
}

bool Shared::take_mail(int from, int to, std::byte* into, std::size_t bytes) const {
  const bool got = read_all(file_, into, bytes, place_of_mail(from, to));
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place_of_mail(from, to),
            static_cast<off_t>(std::max<std::size_t>(bytes, 1)));
  return got;
}

// Waits in short turns: a process that is killed when it has just been woken takes the wake with
// it, and nobody else would hear of the lock again.
Locked::Locked(SharedTable& table) : table_(table) {
  int got = ETIMEDOUT;
  while (got == ETIMEDOUT) {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += turn_ns;
    if (until.tv_nsec >= second_ns) ++until.tv_sec, until.tv_nsec -= second_ns;
    got = pthread_mutex_clocklock(&table_.mutex, CLOCK_MONOTONIC, &until);
  }
  if (got == EOWNERDEAD) pthread_mutex_consistent(&table_.mutex);
}

Locked::~Locked() { pthread_mutex_unlock(&table_.mutex); }

void tell(SharedTable& table, Trouble trouble, const std::string& sentence) {
  if (table.trouble != Trouble::none) return;
  table.trouble = trouble;
  const std::size_t bytes = std::min(sentence.size(), table.sentence.size() - 1);
  std::copy_n(sentence.begin(), bytes, table.sentence.begin());
}

std::uint64_t start_of(pid_t process) {
  // By hand: reading a process that ends meanwhile is an error, of which a stream would throw.
  const std::string path = "/proc/" + std::to_string(process) + "/stat";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 2048> bytes{};
  const ssize_t got = read(file, bytes.data(), bytes.size());
  close(file);
  const std::string text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t name_ends = text.rfind(')');  // the name may hold anything
  if (name_ends == std::string::npos) return 0;
  std::istringstream words(text.substr(name_ends + 1));
  std::string word;
  for (int field = 3; field <= 22 && words >> word; ++field) {
    if (field == 3 && (word == "Z" || word == "X")) return 0;
    if (field == 22) return std::stoull(word);
  }
  return 0;
}

}  // namespace lockstep::paper
