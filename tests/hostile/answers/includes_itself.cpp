// exercise: distributed_sampler
// verdict: compile error
// says: nested depth
// A file that includes itself.
#include __FILE__
