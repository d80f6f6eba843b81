// Number types, and the declarations that all kernels use.
#pragma once
#include <cstddef>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;


#define KERNEL extern "C" __global__ void
constexpr u32 BLOCK = 256;

__device__ inline u32 thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline u32 thread_count() { return gridDim.x * blockDim.x; }
__device__ inline u32 lane() { return threadIdx.x & 31; }

struct Range {
    u32 start, end;
};
