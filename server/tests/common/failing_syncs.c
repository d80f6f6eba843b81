// Stands before the system's own functions in a program that is started with it (LD_PRELOAD).
// While the file named by FAIL_A_SYNC is there, the next sync of a journal's file removes it,
// loses what was written since the sync before, and fails. While that named by HANG_SYNCS is there,
// such syncs don't return. Whole syncs of files with FAIL_SYNCS_OF in their path fail.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define FILES 4096

// By file: what was written since its last sync. One thread writes a file.
static off64_t first[FILES], end[FILES];

static ssize_t write_at(int file, const void *bytes, size_t length, off64_t offset) {
    static ssize_t (*own)(int, const void *, size_t, off64_t);
    if (!own) own = dlsym(RTLD_NEXT, "pwrite64");
    return own(file, bytes, length, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
    ssize_t written = write_at(file, bytes, length, offset);
    if (written > 0 && file < FILES) {
        if (end[file] == 0 || offset < first[file]) first[file] = offset;
        if (offset + written > end[file]) end[file] = offset + written;
    }
    return written;
}

static int is_of(int file, const char *part) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

static int is_journal(int file) {
    return is_of(file, "/journal-");
}

int fsync(int file) {
    static int (*own)(int);
    if (!own) own = dlsym(RTLD_NEXT, "fsync");
    const char *part = getenv("FAIL_SYNCS_OF");
    if (part && is_of(file, part)) {
        errno = EIO;
        return -1;
    }
    return own(file);
}

int fdatasync(int file) {
    static int (*own)(int);
    if (!own) own = dlsym(RTLD_NEXT, "fdatasync");
    if (file >= FILES) return own(file);
    const char *hang = getenv("HANG_SYNCS");
    while (hang && is_journal(file) && access(hang, F_OK) == 0) usleep(10000);
    const char *order = getenv("FAIL_A_SYNC");
    int fails = order && is_journal(file) && unlink(order) == 0;
    if (fails) {
        static const char zeros[4096];
        while (first[file] < end[file]) {
            size_t left = end[file] - first[file];
            size_t length = left < sizeof zeros ? left : sizeof zeros;
            write_at(file, zeros, length, first[file]);
            first[file] += length;
        }
    }
    end[file] = 0;
    if (fails) {
        errno = EIO;
        return -1;
    }
    return own(file);
}
