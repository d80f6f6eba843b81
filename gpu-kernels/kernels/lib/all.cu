// The library: kernels that the tick and the engines share, in one module.
#include "lib/scan.cu"
#include "lib/sort.cu"
#include "lib/sources_hash.cuh"
