// exercise: distributed_sampler
// verdict: compile error
// says: nested depth
// sandboxed: compile error
// A file that includes itself.
#include __FILE__
