// A player that tries what a stranger's player would, and reports how far it came: a line for each
// attempt, "name result", where the result is 0 or the error's number. Trusted; played only to show
// that the sandbox holds. With a port and a process id as its words it is run in a compiler's
// place, and prints what it reports.
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "engine/sim/hosts/player.hpp"

namespace {

using namespace lockstep;

constexpr int threads_tried = 40;
constexpr int line = 3;                    // to the judge
constexpr pid_t nobodys_pid = 0x3fffffff;  // more than any kernel gives out

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

int try_memory(std::size_t bytes, int kind = MAP_PRIVATE) {
  void* got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return errno;
  ::munmap(got, bytes);
  return 0;
}

// Uses the line in ways that no frame needs and that leave it as it is: nothing is sent with them.
int try_out_of_band() { return outcome_of(::send(line, "", 0, MSG_OOB | MSG_NOSIGNAL)); }

int try_to_attach() {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  *rights = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  return outcome_of(::sendmsg(line, &message, MSG_NOSIGNAL));
}

int try_to_receive() {
  char byte;
  return outcome_of(::recv(line, &byte, 1, MSG_DONTWAIT | MSG_PEEK));
}

int try_to_look_at_a_file() {
  struct stat about;
  return outcome_of(::stat("/etc/passwd", &about));
}

int try_advice() {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int outcome = outcome_of(::madvise(page, 4096, MADV_MERGEABLE));
  ::munmap(page, 4096);
  return outcome;
}

int try_runnable_memory() {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int outcome = outcome_of(::mprotect(page, 4096, PROT_READ | PROT_EXEC));
  ::munmap(page, 4096);
  return outcome;
}

// A page of instructions would grow in the same way.
int try_to_grow_memory() {
  constexpr std::size_t page = 4096;
  void* small = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* large = ::mremap(small, page, 2 * page, MREMAP_MAYMOVE);
  if (large == MAP_FAILED) {
    const int outcome = errno;
    ::munmap(small, page);
    return outcome;
  }
  ::munmap(large, 2 * page);
  return 0;
}

int try_to_become(const char* program) {
  char* words[] = {nullptr};
  return outcome_of(::execve(program, words, words));
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

std::string all_attempts(int port, int judge) {
  return text("open_file ", outcome_of(::open("/etc/passwd", O_RDONLY)),  //
              "\nopen_memory ", outcome_of(::open(text("/proc/", judge, "/mem").c_str(), O_RDONLY)),
              "\nsocket ", outcome_of(::socket(AF_INET, SOCK_STREAM, 0)),  //
              "\nconnect ", try_to_connect(port),                          //
              "\nfork ", try_to_fork(),                                    //
              "\nsignal_judge ", outcome_of(::kill(judge, 0)),             //
              "\nmemory_small ", try_memory(std::size_t{64} << 20),        //
              "\nmemory_large ", try_memory(std::size_t{1} << 30),         //
              "\nthreads ", threads_made(),                                //
              "\nout_of_band ", try_out_of_band(),                         //
              "\nattach ", try_to_attach(),                                //
              "\nreceive ", try_to_receive(),                              //
              "\nstat_file ", try_to_look_at_a_file(),                     //
              "\nadvice ", try_advice(),                                   //
              "\nrunnable_memory ", try_runnable_memory(),                 //
              "\ngrowing_memory ", try_to_grow_memory(),                   //
              "\nshared_memory ", try_memory(4096, MAP_SHARED),            //
              "\nbecome ", try_to_become("/nothing"),                      //
              "\nsignal_thread ", outcome_of(::syscall(SYS_tgkill, nobodys_pid, nobodys_pid, 0)),
              "\nuid ", ::getuid(),                                          //
              "\nroot ", ::getuid() == 0 && ::geteuid() == 0,                //
              "\ncapabilities ", capabilities(),                             //
              "\nmay_gain ", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0,  //
              "\nenvironment ", environ != nullptr && environ[0] != nullptr, "\n");
}

Bytes probe(sim::PlayerCase& given) {
  const int port = given.input.get<int>();
  const int judge = given.input.get<int>();
  ByteWriter result;
  result.put_text(all_attempts(port, judge));
  return result.take();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return lockstep::sim::serve_cases(probe);
  std::fputs(all_attempts(std::atoi(argv[1]), std::atoi(argv[2])).c_str(), stdout);
  return 0;
}
