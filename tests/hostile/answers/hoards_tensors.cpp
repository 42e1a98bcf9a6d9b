// exercise: run_stage
// verdict: efficiency
// says: more than can be
// then: grader/impostors/lying/run_stage.hoards.cpp
// Keeps every tensor in memory that no account knows of.
