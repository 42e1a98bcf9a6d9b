// exercise: scale_learning_rate
// verdict: compile error
// says: __asm__ is refused
// then: the reference
// Assembles a program of sixteen gigabytes.
__asm__(".section .data\n.fill 0x400000000\n.text\n");
