// exercise: scale_learning_rate
// verdict: compile error
// says: 05_data_parallel/scale_learning_rate.cpp:6: asm is refused
// then: the reference
// Holds a line for the assembler.
asm("nop");
