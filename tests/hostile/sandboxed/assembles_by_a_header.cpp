// exercise: scale_learning_rate
// verdict: compile error
// says: __asm__ is refused
// then: the reference
// Has a macro of the C library paste the keyword together.
#include <sys/cdefs.h>
__CONCAT(__as, m__)("nop");
