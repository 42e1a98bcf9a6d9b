// A player that tries what a stranger's player would, and reports how far it came: a line for each
// attempt, "name result", where the result is 0 or the error's number. Trusted; played only to show
// that the sandbox holds.
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/sim/player.hpp"

namespace {

using namespace lockstep;

constexpr int threads_tried = 40;

int outcome_of(long result) { return result < 0 ? errno : 0; }

int try_to_connect(int port) {
  const int to = ::socket(AF_INET, SOCK_STREAM, 0);
  if (to < 0) return errno;
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(port));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int outcome = outcome_of(::connect(to, reinterpret_cast<sockaddr*>(&there), sizeof there));
  ::close(to);
  return outcome;
}

int try_to_fork() {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return 0;
}

int try_memory(std::size_t bytes) {
  void* got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return errno;
  ::munmap(got, bytes);
  return 0;
}

int threads_made() {
  std::mutex mutex;
  std::condition_variable over;
  bool end = false;
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < threads_tried; ++i) {
      threads.emplace_back([&] {
        std::unique_lock lock(mutex);
        over.wait(lock, [&] { return end; });
      });
    }
  } catch (const std::system_error&) {
  }
  {
    const std::scoped_lock lock(mutex);
    end = true;
  }
  over.notify_all();
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

int capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return 0;  // refused: it knows of none
  return (data[0].effective | data[1].effective | data[0].permitted | data[1].permitted) != 0;
}

Bytes probe(sim::PlayerCase& given) {
  const int port = given.input.get<int>();
  const int judge = given.input.get<int>();
  ByteWriter result;
  result.put_text(text("open_file ", outcome_of(::open("/etc/passwd", O_RDONLY)),  //
                       "\nopen_memory ",
                       outcome_of(::open(text("/proc/", judge, "/mem").c_str(), O_RDONLY)),
                       "\nsocket ", outcome_of(::socket(AF_INET, SOCK_STREAM, 0)),    //
                       "\nconnect ", try_to_connect(port),                            //
                       "\nfork ", try_to_fork(),                                      //
                       "\nsignal_judge ", outcome_of(::kill(judge, 0)),               //
                       "\nmemory_small ", try_memory(std::size_t{64} << 20),          //
                       "\nmemory_large ", try_memory(std::size_t{1} << 30),           //
                       "\nthreads ", threads_made(),                                  //
                       "\nroot ", ::getuid() == 0 && ::geteuid() == 0,                //
                       "\ncapabilities ", capabilities(),                             //
                       "\nmay_gain ", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0,  //
                       "\nenvironment ", environ != nullptr && environ[0] != nullptr, "\n"));
  return result.take();
}

}  // namespace

int main() { return lockstep::sim::serve_cases(probe); }
