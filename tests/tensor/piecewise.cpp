// What the build of the kernels refuses: a comparison of vectors that are wider than the
// processor's registers, which g++ would take apart lane by lane. The test compiles it with the
// kernels' flags.
typedef float Wide __attribute__((vector_size(64)));

[[gnu::target("avx2")]] void clamp(Wide* x) { *x = *x < 0 ? Wide{} : *x; }
