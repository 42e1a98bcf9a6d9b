// exercise: scale_learning_rate
// verdict: compile error
// says: 05_data_parallel/scale_learning_rate.cpp:8: __asm__ is refused
// then: the reference
// Pastes the keyword together out of two halves.
#define HALVES(a, b) a##b
#define WHOLE(a, b) HALVES(a, b)
WHOLE(__as, m__)("nop");
