// exercise: distributed_sampler
// verdict: compile error
// says: does not compile
// sandboxed: compile error
// Reads a file without an end at compile time.
#include "/dev/zero"
