// The options of the sanitizers of ./lab check --sanitize for a player, because its environment is
// empty. A finding ends the player by a signal, so that it is a crash and no exit; leaks are no
// part of any contract.
extern "C" const char* __asan_default_options();
extern "C" const char* __ubsan_default_options();

const char* __asan_default_options() { return "abort_on_error=1:detect_leaks=0"; }
const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }
