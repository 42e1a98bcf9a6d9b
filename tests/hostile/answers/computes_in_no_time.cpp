// exercise: run_stage
// verdict: efficiency
// says: could have travelled while they worked
// then: grader/impostors/lying/run_stage.computes_in_no_time.cpp
// Waits for each transfer, and tells the judge that computing takes no time.
