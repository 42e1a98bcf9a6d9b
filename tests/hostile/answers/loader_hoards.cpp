// exercise: prefetching_loader
// verdict: memory
// says: bytes, where a batch has
// then: grader/impostors/lying/prefetching_loader.hoards.cpp
// Keeps every batch in memory that no account knows of.
