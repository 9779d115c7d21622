/* trace.c - see trace.h. Packets are written through the public encoder. */
#include "support/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void put(struct trace *trace, const struct pt_packet *packet)
{
	struct pt_config config;
	struct pt_encoder *encoder;
	int size;

	pt_config_init(&config);
	config.begin = trace->bytes + trace->size;
	config.end = trace->bytes + sizeof(trace->bytes);
	encoder = pt_alloc_encoder(&config);
	assert_non_null(encoder);
	size = pt_enc_next(encoder, packet);
	assert_true(size > 0);
	trace->size += (size_t)size;
	pt_free_encoder(encoder);
}

static void put_type(struct trace *trace, enum pt_packet_type type)
{
	put(trace, &(struct pt_packet){.type = type});
}

void trace_psb(struct trace *trace)
{
	put_type(trace, ppt_psb);
}

void trace_psbend(struct trace *trace)
{
	put_type(trace, ppt_psbend);
}

void trace_ovf(struct trace *trace)
{
	put_type(trace, ppt_ovf);
}

void trace_tsc(struct trace *trace, uint64_t tsc)
{
	put(trace, &(struct pt_packet){.type = ppt_tsc, .payload.tsc.tsc = tsc});
}

void trace_tma(struct trace *trace, uint16_t ctc, uint16_t fc)
{
	put(trace, &(struct pt_packet){.type = ppt_tma, .payload.tma = {.ctc = ctc, .fc = fc}});
}

void trace_mtc(struct trace *trace, uint8_t ctc)
{
	put(trace, &(struct pt_packet){.type = ppt_mtc, .payload.mtc.ctc = ctc});
}

void trace_mode64(struct trace *trace)
{
	struct pt_packet packet = {.type = ppt_mode};

	packet.payload.mode.leaf = pt_mol_exec;
	packet.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	put(trace, &packet);
}

void trace_tsx(struct trace *trace, int speculative, int aborted)
{
	struct pt_packet packet = {.type = ppt_mode};

	packet.payload.mode.leaf = pt_mol_tsx;
	packet.payload.mode.bits.tsx.intx = speculative != 0;
	packet.payload.mode.bits.tsx.abrt = aborted != 0;
	put(trace, &packet);
}

void trace_pip(struct trace *trace, uint64_t cr3)
{
	put(trace, &(struct pt_packet){.type = ppt_pip, .payload.pip.cr3 = cr3});
}

void trace_pip_guest(struct trace *trace, uint64_t cr3)
{
	put(trace, &(struct pt_packet){.type = ppt_pip, .payload.pip = {.cr3 = cr3, .nr = 1}});
}

void trace_vmcs(struct trace *trace, uint64_t base)
{
	put(trace, &(struct pt_packet){.type = ppt_vmcs, .payload.vmcs.base = base});
}

void trace_ptw(struct trace *trace, uint64_t payload)
{
	put(trace,
	    &(struct pt_packet){.type = ppt_ptw, .payload.ptw = {.payload = payload, .plc = 0, .ip = 1}});
}

void trace_stop(struct trace *trace)
{
	put_type(trace, ppt_stop);
}

static void put_tnt(struct trace *trace, enum pt_packet_type type, const char *outcomes)
{
	struct pt_packet packet = {.type = type};

	for (; *outcomes; ++outcomes) {
		packet.payload.tnt.payload = packet.payload.tnt.payload << 1 | (*outcomes == 't');
		packet.payload.tnt.bit_size += 1;
	}
	put(trace, &packet);
}

void trace_tnt(struct trace *trace, const char *outcomes)
{
	put_tnt(trace, ppt_tnt_8, outcomes);
}

void trace_tnt_64(struct trace *trace, const char *outcomes)
{
	put_tnt(trace, ppt_tnt_64, outcomes);
}

void trace_ip(struct trace *trace, enum pt_packet_type type, uint64_t ip)
{
	put(trace, &(struct pt_packet){.type = type, .payload.ip = {.ipc = pt_ipc_full, .ip = ip}});
}

void trace_ip_suppressed(struct trace *trace, enum pt_packet_type type)
{
	put(trace, &(struct pt_packet){.type = type, .payload.ip = {.ipc = pt_ipc_suppressed}});
}

void trace_start(struct trace *trace, uint64_t tsc)
{
	trace_psb(trace);
	trace_tsc(trace, tsc);
	trace_mode64(trace);
	trace_psbend(trace);
}

struct pt_config trace_config(const struct trace *trace)
{
	struct pt_config config;

	pt_config_init(&config);
	/* A decoder only reads; the field is not const because encoders share the struct. */
	config.begin = (uint8_t *)(uintptr_t)trace->bytes;
	config.end = config.begin + trace->size;
	return config;
}

void program_write(struct program *program, const void *bytes, size_t size)
{
	temp_dir_make(&program->dir);
	program->path = temp_dir_write(&program->dir, "code", bytes, size);
}

void program_remove(struct program *program)
{
	free(program->path);
	temp_dir_remove(&program->dir);
}

struct pt_image *program_image(const struct program *program, uint64_t vaddr)
{
	struct pt_image *image = pt_image_alloc(NULL);

	assert_non_null(image);
	assert_int_equal(pt_image_add_file(image, program->path, 0, UINT64_MAX >> 1, NULL, vaddr), 0);
	return image;
}
