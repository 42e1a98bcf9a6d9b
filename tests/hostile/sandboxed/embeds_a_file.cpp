// exercise: scale_learning_rate
// verdict: compile error
// says:
// then: the reference
// Has the assembler copy a file into the program.
__asm__(".section .rodata\n.incbin \"/etc/passwd\"\n.text\n");
