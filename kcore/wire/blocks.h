/* Memory of frames, and a few large blocks kept for the next ones.
 *
 * An answer of some megabytes is a thousand fresh pages, and touching them for the first time costs
 * several times what copying the bytes does. So blocks from BLOCK_MIN bytes on are mapped by
 * themselves, aligned and marked for huge pages (which the kernel uses for the whole 2 MiB in them,
 * so that no more is resident than was asked for), and up to BLOCKS_KEPT of them, BLOCKS_BYTES
 * together, or one of up to BLOCK_MAX, wait for the next frame of about their size instead of being
 * given back.
 *
 * Callers hold one lock around all of it.
 */
#ifndef KCORE_BLOCKS_H
#define KCORE_BLOCKS_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BLOCK_MIN ((size_t) 1 << 20)
#define BLOCK_STEP ((size_t) 1 << 18) /* capacities are multiples: frames of like sizes share */
#define BLOCK_MAX ((size_t) 1 << 25)
#define BLOCKS_KEPT 4
#define BLOCKS_BYTES ((size_t) 1 << 24)
#define HUGE_PAGE ((size_t) 1 << 21)

typedef struct {
    uint8_t *data;
    size_t capacity;
} kcore_block;

static kcore_block kept[BLOCKS_KEPT]; /* oldest first */
static int kept_count = 0;
static size_t kept_bytes = 0;

static uint8_t *map_block(size_t capacity) {
    size_t span = capacity + HUGE_PAGE;
    uint8_t *found = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) {
        return NULL;
    }
    size_t before = (HUGE_PAGE - (uintptr_t) found % HUGE_PAGE) % HUGE_PAGE;
    if (before) {
        munmap(found, before);
    }
    munmap(found + before + capacity, span - before - capacity);
#ifdef MADV_HUGEPAGE
    madvise(found + before, capacity, MADV_HUGEPAGE); /* where it is refused, pages stay small */
#endif
    return found + before;
}

static kcore_block drop_kept(int index) {
    kcore_block block = kept[index];
    kept_count -= 1;
    kept_bytes -= block.capacity;
    for (int at = index; at < kept_count; at++) {
        kept[at] = kept[at + 1];
    }
    return block;
}

/* A block for `size` bytes; data is NULL if there is no memory. */
static kcore_block take_block(size_t size) {
    kcore_block block = {NULL, size ? size : 1};
    if (size < BLOCK_MIN) {
        block.data = malloc(block.capacity);
        return block;
    }
    block.capacity = (size + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP;
    for (int at = kept_count - 1; at >= 0; at--) { /* newest first: it may be in the cache still */
        if (kept[at].capacity >= size && kept[at].capacity <= block.capacity + block.capacity / 4) {
            return drop_kept(at);
        }
    }
    if (kept_count) { /* of other sizes: what nobody asks for goes, one for one */
        kcore_block old = drop_kept(0);
        munmap(old.data, old.capacity);
    }
    block.data = map_block(block.capacity);
    return block;
}

static void give_block(kcore_block block) {
    if (block.capacity < BLOCK_MIN) {
        free(block.data);
        return;
    }
    if (block.capacity > BLOCK_MAX) {
        munmap(block.data, block.capacity);
        return;
    }
    while (kept_count &&
           (kept_count == BLOCKS_KEPT || kept_bytes + block.capacity > BLOCKS_BYTES)) {
        kcore_block old = drop_kept(0);
        munmap(old.data, old.capacity);
    }
    kept[kept_count++] = block;
    kept_bytes += block.capacity;
}

#endif
