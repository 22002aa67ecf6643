#ifndef QUATRE_TF_ACCELERATED_PROCESSORS_H_
#define QUATRE_TF_ACCELERATED_PROCESSORS_H_

// One library for all processors of an architecture: the loader takes the widest that there is.
#if defined(__x86_64__) && defined(__linux__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

#endif  // QUATRE_TF_ACCELERATED_PROCESSORS_H_
