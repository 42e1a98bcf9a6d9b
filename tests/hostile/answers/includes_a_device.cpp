// exercise: distributed_sampler
// verdict: compile error
// says: does not compile
// Reads a file without an end at compile time.
#include "/dev/zero"
