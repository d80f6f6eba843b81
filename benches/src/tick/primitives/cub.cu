// CUB's device-wide sort and scan on the numbers of a file:
//   cub FILE N KEY_BITS RUNS
// prints the median of the runs in milliseconds and a checksum, for each.
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s\n", cudaGetErrorString(error));
    exit(1);
}

static uint64_t checksum(const std::vector<uint32_t>& items, uint64_t sum = 0xcbf29ce484222325ull) {
    for (uint32_t item : items) sum = (sum ^ item) * 0x100000001b3ull;
    return sum;
}

template <class Prepare, class Work>
static float median_ms(int runs, Prepare prepare, Work work) {
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    std::vector<float> times;
    for (int run = 0; run < runs; run++) {
        prepare();
        check(cudaDeviceSynchronize());
        check(cudaEventRecord(begin));
        work();
        check(cudaEventRecord(end));
        check(cudaEventSynchronize(end));
        float ms;
        check(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "expected FILE N KEY_BITS RUNS\n");
        return 2;
    }
    size_t n = strtoull(argv[2], nullptr, 10);
    int bits = atoi(argv[3]), runs = atoi(argv[4]);
    std::vector<uint32_t> items(n), indices(n);
    FILE* file = fopen(argv[1], "rb");
    if (!file || fread(items.data(), 4, n, file) != n) {
        fprintf(stderr, "cannot read %zu numbers from %s\n", n, argv[1]);
        return 1;
    }
    fclose(file);
    for (size_t i = 0; i < n; i++) indices[i] = (uint32_t)i;
    uint32_t* memory[4];
    for (auto& part : memory) check(cudaMalloc(&part, n * 4));
    cub::DoubleBuffer<uint32_t> keys(memory[0], memory[1]), values(memory[2], memory[3]);
    void* scratch = nullptr;
    size_t sort_bytes = 0, scan_bytes = 0;
    check(cub::DeviceRadixSort::SortPairs(scratch, sort_bytes, keys, values, (int)n, 0, bits));
    check(cub::DeviceScan::ExclusiveSum(scratch, scan_bytes, memory[0], memory[1], (int)n));
    check(cudaMalloc(&scratch, std::max(sort_bytes, scan_bytes)));

    float sort_ms = median_ms(runs, [&] {
        check(cudaMemcpy(keys.Current(), items.data(), n * 4, cudaMemcpyHostToDevice));
        check(cudaMemcpy(values.Current(), indices.data(), n * 4, cudaMemcpyHostToDevice));
    }, [&] { check(cub::DeviceRadixSort::SortPairs(scratch, sort_bytes, keys, values, (int)n, 0, bits)); });
    std::vector<uint32_t> sorted(n), order(n);
    check(cudaMemcpy(sorted.data(), keys.Current(), n * 4, cudaMemcpyDeviceToHost));
    check(cudaMemcpy(order.data(), values.Current(), n * 4, cudaMemcpyDeviceToHost));
    printf("sort %f %llx\n", sort_ms, (unsigned long long)checksum(order, checksum(sorted)));

    float scan_ms = median_ms(runs, [&] { check(cudaMemcpy(memory[0], items.data(), n * 4, cudaMemcpyHostToDevice)); },
                              [&] { check(cub::DeviceScan::ExclusiveSum(scratch, scan_bytes, memory[0], memory[1], (int)n)); });
    check(cudaMemcpy(sorted.data(), memory[1], n * 4, cudaMemcpyDeviceToHost));
    printf("scan %f %llx\n", scan_ms, (unsigned long long)checksum(sorted));
}
