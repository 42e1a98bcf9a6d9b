// exercise: distributed_sampler
// verdict: compile error
// says: does not compile
// sandboxed: compile error
// Includes an endless file at compile time.
#include "/dev/zero"
