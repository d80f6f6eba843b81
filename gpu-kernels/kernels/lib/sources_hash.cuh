// Hash of the sources; the host compares it with the manifest beside the prebuilt module.
#pragma once
#ifndef SOURCES_HASH
#error "build with the project's script: it hashes the sources"
#endif
extern "C" __device__ const u64 sources_hash = SOURCES_HASH;
