// The results of a search as a list for each notification: count, scan, store.
#include "lib/scan.cuh"

// Turns bits into a list for each notification, in two launches around a scan.
__device__ inline u32 count_bits(const u32* bits, u32 words, u32 notification, u32 n) {
    u32 count = 0;
    if (notification < n)
        for (u32 w = 0; w < words; w++) count += __popc(bits[(u64)notification * words + w]);
    return count;
}
KERNEL content_bits_count(const u32* bits, u32 words, u32 n, u64* partials) {
    scan_put(partials, nullptr, count_bits(bits, words, thread_index(), n));
}
KERNEL content_bits_list(const u32* bits, u32 words, u32 n, const u64* partials, u32* offsets, u32* subscribers,
                         u64 subscribers_max) {
    u32 notification = thread_index();
    u32 count = count_bits(bits, words, notification, n);
    u64 place = scan_offset(partials, nullptr, count);
    if (notification >= n) return;
    offsets[notification] = (u32)place;
    if (notification == n - 1) offsets[n] = (u32)place + count;
    for (u32 w = 0; w < words; w++)
        for (u32 rest = bits[(u64)notification * words + w]; rest; rest &= rest - 1, place++)
            if (place < subscribers_max) subscribers[place] = w * 32 + __ffs(rest) - 1;
}

// Turns sorted pairs into lists, each pair once, in the same way.
__device__ inline bool is_first(const u64* pairs, u64 i, u64 n) {
    return i < n && (i == 0 || pairs[i - 1] != pairs[i]);
}
KERNEL content_pairs_count(const u64* pairs, const u64* count, u64* partials) {
    scan_put(partials, nullptr, is_first(pairs, thread_index(), *count));
}
KERNEL content_pairs_list(const u64* pairs, const u64* count, u32 subscriber_bits, u32 notifications,
                          const u64* partials, u32* offsets, u32* subscribers) {
    u64 n = *count, i = thread_index();
    bool first = is_first(pairs, i, n);
    u32 place = (u32)scan_offset(partials, nullptr, first);
    if (n == 0) {
        for (u32 k = i; k <= notifications; k += thread_count()) offsets[k] = 0;
        return;
    }
    if (i >= n) return;
    u32 own = (u32)(pairs[i] >> subscriber_bits);
    if (first) {
        subscribers[place] = (u32)(pairs[i] & ((1ull << subscriber_bits) - 1));
        // Notifications between the previous match's and this one have empty lists, which
        // begin here.
        u32 from = i ? (u32)(pairs[i - 1] >> subscriber_bits) + 1 : 0;
        for (u32 k = from; k <= own; k++) offsets[k] = place;
    }
    if (i == n - 1)
        for (u32 k = own + 1; k <= notifications; k++) offsets[k] = place + first;
}
