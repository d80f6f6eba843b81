// All kernels in one module.
#include "sort.cu"

#include "due.cu"
#include "logic.cu"
#include "merge.cu"
#include "notifications.cu"
#include "lifecycle.cu"
#include "index.cu"
#include "interest.cu"
#include "hash.cu"
#include "held.cu"
#include "hearings.cu"
#include "primitives.cu"

#include "events_torus.cu"
#include "events_phold.cu"
#include "events_select.cu"
#include "content.cu"
#include "regions.cu"
#include "regions_find.cu"
#include "regions_cells.cu"

// What the host compares with its own idea of the layouts.
extern "C" __device__ const u32 layout_bytes[] = {sizeof(World), sizeof(Tick), sizeof(Counters), sizeof(Command),
                                                  sizeof(Observer), sizeof(ObserverSet), sizeof(Rule), sizeof(Birth),
                                                  sizeof(After), sizeof(TimedState), sizeof(Notification)};
extern "C" __device__ const u32 held_layout_bytes[] = {sizeof(Held), sizeof(HeldRegion), sizeof(RegionSet),
                                                       sizeof(HeldLevel)};
extern "C" __device__ const u32 events_layout_bytes[] = {sizeof(TorusRun), sizeof(PholdRun), sizeof(EventControl),
                                                         sizeof(Facility)};
#ifndef SOURCES_HASH
#error "build with the project's script: it hashes the sources"
#endif
extern "C" __device__ const u64 sources_hash = SOURCES_HASH;
