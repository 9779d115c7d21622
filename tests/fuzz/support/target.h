/* What a fuzz target provides. libFuzzer, the replay and the mutator call it. */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Runs one input; zero. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* For the mutator, of targets whose input ends in a trace: where that begins, at most @size; and an address
 * that lies in the input's code. */
size_t fuzz_trace_begin(const uint8_t *data, size_t size);
uint64_t fuzz_code_address(const uint8_t *data, size_t size);

#endif
