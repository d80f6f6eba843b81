// The kernels of the tick and of content matching, in one module.
#include "tick/atomic.cu"
#include "tick/census.cu"
#include "tick/doors.cu"
#include "tick/due.cu"
#include "tick/edits.cu"
#include "tick/fields.cu"
#include "tick/hash.cu"
#include "tick/hearings.cu"
#include "tick/held.cu"
#include "tick/index.cu"
#include "tick/interest_changed.cu"
#include "tick/interest_deliver.cu"
#include "tick/interest_see.cu"
#include "tick/lifecycle.cu"
#include "tick/logic.cu"
#include "tick/merge.cu"
#include "tick/motion.cu"
#include "tick/notifications.cu"
#include "tick/regions.cu"
#include "tick/standings.cu"
#include "tick/zones.cu"

#include "content/compare.cu"
#include "content/lists.cu"
#include "content/match.cu"

#include "lib/sources_hash.cuh"

// Layout hashes; the host compares them with its own declarations.
extern "C" __device__ const u64 tick_layout_hash = TICK_LAYOUT_HASH;
extern "C" __device__ const u64 content_layout_hash = CONTENT_LAYOUT_HASH;
