#include "grader/sandbox/player_filter.hpp"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace lockstep::grader {
namespace {

// Some of these differ between architectures; those that one lacks are negative and ignored by
// seccomp_rule_add, so one list serves all.
constexpr int allowed[] = {
    // its line to the lab, and printing: no call that knows of sockets, and none that takes a path
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(poll),
    SCMP_SYS(ppoll), SCMP_SYS(fstat), SCMP_SYS(lseek),
    // memory; mmap and mprotect have rules of their own. With mremap, pages of instructions could
    // grow over the data behind them in the program's file; realloc copies without it
    SCMP_SYS(brk), SCMP_SYS(munmap),
    // threads and signals of its own
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address),
    SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(sched_yield), SCMP_SYS(membarrier),
    SCMP_SYS(getcpu), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigsuspend), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(sigaltstack), SCMP_SYS(pause),
    SCMP_SYS(restart_syscall),
    // time and chance
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom), SCMP_SYS(getrusage),
    SCMP_SYS(times),
    // the start of a program, and its end
    SCMP_SYS(arch_prctl), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
    SCMP_SYS(uname), SCMP_SYS(exit), SCMP_SYS(exit_group)};

// System calls that only an attack makes: it ends there, and the verdict says so.
constexpr int fatal[] = {SCMP_SYS(ptrace),
                         SCMP_SYS(process_vm_readv),
                         SCMP_SYS(process_vm_writev),
                         SCMP_SYS(kcmp),
                         SCMP_SYS(pidfd_getfd),
                         SCMP_SYS(pidfd_open),
                         SCMP_SYS(io_uring_setup),
                         SCMP_SYS(io_uring_enter),
                         SCMP_SYS(io_uring_register),
                         SCMP_SYS(bpf),
                         SCMP_SYS(userfaultfd),
                         SCMP_SYS(perf_event_open),
                         SCMP_SYS(keyctl),
                         SCMP_SYS(add_key),
                         SCMP_SYS(request_key),
                         SCMP_SYS(unshare),
                         SCMP_SYS(setns),
                         SCMP_SYS(mount),
                         SCMP_SYS(umount2),
                         SCMP_SYS(pivot_root),
                         SCMP_SYS(chroot),
                         SCMP_SYS(name_to_handle_at),
                         SCMP_SYS(open_by_handle_at),
                         SCMP_SYS(init_module),
                         SCMP_SYS(finit_module),
                         SCMP_SYS(kexec_load),
                         SCMP_SYS(reboot),
                         SCMP_SYS(swapon),
                         SCMP_SYS(iopl),
                         SCMP_SYS(ioperm)};

// Further system calls that a compiler never makes.
constexpr int sockets_and_more[] = {SCMP_SYS(socket),
                                    SCMP_SYS(socketpair),
                                    SCMP_SYS(connect),
                                    SCMP_SYS(bind),
                                    SCMP_SYS(listen),
                                    SCMP_SYS(accept),
                                    SCMP_SYS(accept4),
                                    SCMP_SYS(sendto),
                                    SCMP_SYS(sendmsg),
                                    SCMP_SYS(sendmmsg),
                                    SCMP_SYS(recvfrom),
                                    SCMP_SYS(recvmsg),
                                    SCMP_SYS(recvmmsg),
                                    SCMP_SYS(shutdown),
                                    SCMP_SYS(setsockopt),
                                    SCMP_SYS(shmget),
                                    SCMP_SYS(shmat),
                                    SCMP_SYS(shmctl),
                                    SCMP_SYS(semget),
                                    SCMP_SYS(semop),
                                    SCMP_SYS(semctl),
                                    SCMP_SYS(msgget),
                                    SCMP_SYS(msgsnd),
                                    SCMP_SYS(msgrcv),
                                    SCMP_SYS(msgctl),
                                    SCMP_SYS(mq_open),
                                    SCMP_SYS(mq_unlink),
                                    SCMP_SYS(memfd_create),
                                    SCMP_SYS(inotify_init1),
                                    SCMP_SYS(fanotify_init),
                                    SCMP_SYS(mknod),
                                    SCMP_SYS(mknodat),
                                    SCMP_SYS(clock_settime),
                                    SCMP_SYS(settimeofday),
                                    SCMP_SYS(adjtimex),
                                    SCMP_SYS(sethostname),
                                    SCMP_SYS(setdomainname),
                                    SCMP_SYS(acct),
                                    SCMP_SYS(quotactl),
                                    SCMP_SYS(swapoff),
                                    SCMP_SYS(delete_module),
                                    SCMP_SYS(kexec_file_load),
                                    SCMP_SYS(syslog),
                                    SCMP_SYS(open_tree),
                                    SCMP_SYS(move_mount),
                                    SCMP_SYS(fsopen),
                                    SCMP_SYS(pidfd_send_signal),
                                    SCMP_SYS(process_madvise)};

struct Released {
  void operator()(void* context) const { seccomp_release(context); }
};

}  // namespace

std::string load_reader_filter() {
  const std::unique_ptr<void, Released> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!filter) return "seccomp_init failed";
  int failed = 0;
  const auto allow_if = [&](int call, auto... arguments) {
    const int result =
        seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, sizeof...(arguments), arguments...);
    if (result != 0 && failed == 0) failed = -result;
  };
  for (const int call :
       {SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(close),
        SCMP_SYS(fstat), SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(futex), SCMP_SYS(clock_gettime),
        SCMP_SYS(getrandom), SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(rt_sigreturn),
        SCMP_SYS(rt_sigprocmask), SCMP_SYS(exit), SCMP_SYS(exit_group)}) {
    allow_if(call);
  }
  // Memory, but none that could be run.
  allow_if(SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  allow_if(SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  allow_if(SCMP_SYS(madvise), SCMP_A2(SCMP_CMP_EQ, MADV_DONTNEED));
  allow_if(SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid())));
  if (failed == 0) failed = -seccomp_load(filter.get());
  return failed == 0 ? "" : std::strerror(failed);
}

std::string load_compiler_filter() {
  const std::unique_ptr<void, Released> filter(seccomp_init(SCMP_ACT_ALLOW));
  if (!filter) return "seccomp_init failed";
  int failed = 0;
  const auto refuse = [&](int call) {
    const int result = seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), call, 0);
    if (result != 0 && failed == 0) failed = -result;
  };
  for (const int call : fatal) refuse(call);
  for (const int call : sockets_and_more) refuse(call);
  if (failed == 0) failed = -seccomp_load(filter.get());
  return failed == 0 ? "" : std::strerror(failed);
}

std::string load_player_filter(int program) {
  const std::unique_ptr<void, Released> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!filter) return "seccomp_init failed";
  int failed = 0;
  const auto note = [&](int result) {
    if (result != 0 && failed == 0) failed = -result;
  };
  note(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  note(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));  // a tree, not a list
  for (const int call : allowed) note(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0));
  for (const int call : fatal) note(seccomp_rule_add(filter.get(), SCMP_ACT_KILL_PROCESS, call, 0));
  note(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0));
  const auto allow_if = [&](int call, auto... arguments) {
    note(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, sizeof...(arguments), arguments...));
  };
  // Memory, but none that could be run: bytes that a hand-in holds stay bytes. Nor any that is
  // shared: its pages would stay when they are mapped no more, and the judge would not count them.
  allow_if(SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
           SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE, MAP_PRIVATE));
  allow_if(SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  allow_if(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  // Its own limits may be read, not set; 0 is the process that asks.
  allow_if(SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
  allow_if(SCMP_SYS(sched_getaffinity), SCMP_A0(SCMP_CMP_EQ, 0));
  // Its own threads: abort() and raise() need it. The process id stays when it becomes the player.
  allow_if(SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid())));
  for (const int advice : {MADV_DONTNEED, MADV_FREE}) {  // giving memory back
    allow_if(SCMP_SYS(madvise), SCMP_A2(SCMP_CMP_EQ, static_cast<scmp_datum_t>(advice)));
  }
  // Becomes what is open as `program`, which is closed by that; nothing can be opened any more.
  allow_if(SCMP_SYS(execveat), SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(program)),
           SCMP_A4(SCMP_CMP_EQ, AT_EMPTY_PATH));
  if (failed == 0) note(seccomp_load(filter.get()));
  return failed == 0 ? "" : std::strerror(failed);
}

}  // namespace lockstep::grader
