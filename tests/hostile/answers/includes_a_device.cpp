// exercise: distributed_sampler
// verdict: compile error
// says: device
// Reads a file without an end at compile time.
#include "/dev/zero"
