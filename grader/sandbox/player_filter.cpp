#include "grader/sandbox/player_filter.hpp"

#include <sched.h>
#include <seccomp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace lockstep::grader {
namespace {

// Some of these differ between architectures; those that one lacks are negative and ignored by
// seccomp_rule_add, so one list serves all.
constexpr int allowed[] = {
    // its line to the lab, and printing
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg), SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(shutdown), SCMP_SYS(close),
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(lseek),
    // memory
    SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    // threads and signals of its own
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address),
    SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(membarrier), SCMP_SYS(getcpu), SCMP_SYS(tgkill), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigsuspend),
    SCMP_SYS(rt_sigtimedwait), SCMP_SYS(sigaltstack), SCMP_SYS(pause), SCMP_SYS(restart_syscall),
    // time and chance
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom), SCMP_SYS(getrusage),
    SCMP_SYS(times),
    // the start of a program, and its end
    SCMP_SYS(execve), SCMP_SYS(arch_prctl), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
    SCMP_SYS(getegid), SCMP_SYS(uname), SCMP_SYS(exit), SCMP_SYS(exit_group)};

// What only an attack asks for: it ends there, and the verdict says so.
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

struct Released {
  void operator()(void* context) const { seccomp_release(context); }
};

}  // namespace

std::string load_player_filter() {
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
  const scmp_arg_cmp a_thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
  note(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, a_thread));
  // Limits may be read, not set.
  const scmp_arg_cmp reads = SCMP_A2(SCMP_CMP_EQ, 0);
  note(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, reads));
  if (failed == 0) note(seccomp_load(filter.get()));
  return failed == 0 ? "" : std::strerror(failed);
}

}  // namespace lockstep::grader
