// exercise: distributed_sampler
// verdict: compile error
// says: nested depth
// sandboxed: compile error
// Includes itself.
#include __FILE__
