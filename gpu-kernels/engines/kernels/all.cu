// The kernels of all engines, in one module.
#include "counting.cu"
#include "events_phold.cu"
#include "events_select.cu"
#include "events_torus.cu"
#include "regions.cu"
#include "regions_cells.cu"
#include "regions_find.cu"

#include "lib/sources_hash.cuh"

// Layout hashes; the host compares them with its own declarations.
extern "C" __device__ const u64 content_layout_hash = CONTENT_LAYOUT_HASH;
extern "C" __device__ const u64 counting_layout_hash = COUNTING_LAYOUT_HASH;
extern "C" __device__ const u64 events_layout_hash = EVENTS_LAYOUT_HASH;
extern "C" __device__ const u64 regions_layout_hash = REGIONS_LAYOUT_HASH;
