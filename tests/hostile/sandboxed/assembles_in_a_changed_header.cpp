// exercise: scale_learning_rate
// verdict: compile error
// says: asm is refused
// then: the reference
// Changes a macro of the C library, so that a header holds the line for the assembler.
#include <sys/cdefs.h>
#undef __BEGIN_DECLS
#define __BEGIN_DECLS \
  __asm__("nop");     \
  extern "C" {
#include <sys/poll.h>
