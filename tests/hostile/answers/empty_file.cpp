// exercise: distributed_sampler
// verdict: compile error
// says: does not define lockstep::data::distributed_indices
// An empty file compiles, but contains no part.
