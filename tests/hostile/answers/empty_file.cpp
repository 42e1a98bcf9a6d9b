// exercise: distributed_sampler
// verdict: compile error
// says: does not define lockstep::data::distributed_indices
// An empty file compiles, but there is no part in it.
