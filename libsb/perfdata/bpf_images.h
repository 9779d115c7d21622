/* bpf_images.h - the BPF programs that perf found in the kernel: the BPF_PROG_INFO feature.
 *
 * u32 count, then for each program: u32 info_len, u32 data_len, u64 arrays, struct bpf_prog_info (of info_len
 * bytes, as the recording machine's headers have it: <linux/bpf.h>), data of data_len bytes. Pointers in the
 * structure are offsets in the data; bit N of arrays says whether the structure's array number N is there.
 * Format: perf.data-file-format.txt, HEADER_BPF_PROG_INFO.
 */
#ifndef SB_BPF_IMAGES_H
#define SB_BPF_IMAGES_H

#include <sb/perfdata.h>

/* Zeroed is empty. */
struct bpf_image_table {
	struct sb_bpf_image *image;
	size_t count;
};

/* Adds what the feature's bytes say; the images point into them. NULL, or what is wrong: what came before
 * that counts. Programs whose code or addresses perf was not shown are passed over. */
const char *bpf_images_read(struct bpf_image_table *table, const uint8_t *bytes, uint64_t size);
void bpf_images_free(struct bpf_image_table *table);

#endif
