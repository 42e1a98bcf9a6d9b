// The kernels' flags refuse this: a comparison of vectors that are wider than the processor's
// registers, which g++ would take apart lane by lane.
typedef float Wide __attribute__((vector_size(64)));

[[gnu::target("avx2")]] void clamp(Wide* x) { *x = *x < 0 ? Wide{} : *x; }
