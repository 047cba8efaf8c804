// Threads create files: each takes the lock of an inode and then looks for a free block, lock by lock.
//
// Blocks collide only when there are more threads than half the blocks. The same program as
// optimal-dpor/filesystem.sel.
//
//# verdict: verified
//# same: optimal-dpor/filesystem.sel
//# default: classes=2
//# N=2, BLOCKS=2: classes=2
//# N=16: classes=8

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef N
#define N 14
#endif
#ifndef BLOCKS
#define BLOCKS 26
#endif
#define INODES 32

pthread_mutex_t inode_lock[INODES];
pthread_mutex_t block_lock[BLOCKS];
int inode[INODES];
bool busy[BLOCKS];

void *creator(void *number) {
    int i = (int)(intptr_t)number % INODES;
    pthread_mutex_lock(&inode_lock[i]);
    if (inode[i] == 0) {
        int b = (i * 2) % BLOCKS;
        for (;;) {
            pthread_mutex_lock(&block_lock[b]);
            if (!busy[b]) {
                busy[b] = true;
                inode[i] = b + 1;
                pthread_mutex_unlock(&block_lock[b]);
                break;
            }
            pthread_mutex_unlock(&block_lock[b]);
            b = (b + 1) % BLOCKS;
        }
    }
    pthread_mutex_unlock(&inode_lock[i]);
    return 0;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < INODES; i++) pthread_mutex_init(&inode_lock[i], 0);
    for (int i = 0; i < BLOCKS; i++) pthread_mutex_init(&block_lock[i], 0);
    for (intptr_t t = 0; t < N; t++) pthread_create(&threads[t], 0, creator, (void *)t);
    for (int t = 0; t < N; t++) pthread_join(threads[t], 0);
    return 0;
}
