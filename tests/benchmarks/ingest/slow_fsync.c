/* Preloaded into a server, makes every fsync and fdatasync last SLOW_FSYNC_US microseconds longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_longer(void) {
    const char *text = getenv("SLOW_FSYNC_US");
    if (text != NULL) usleep((useconds_t)atoi(text));
}

int fsync(int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_longer();
    return real(file);
}

int fdatasync(int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_longer();
    return real(file);
}
