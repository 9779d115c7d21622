/* input.c - see input.h: what all inputs have, and the hardware traces of the corpus. */
#include "input.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int input_add_section(struct input *input, const char *path, uint64_t offset, uint64_t size, uint64_t vaddr)
{
	struct input_section *grown =
	        reallocarray(input->section, input->nsections + 1, sizeof(*input->section));

	if (!grown)
		return -1;
	input->section = grown;
	grown[input->nsections] = (struct input_section){strdup(path), offset, size, vaddr};
	return grown[input->nsections++].path ? 0 : -1;
}

int input_read_trace(struct input *input, const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat status;
	int result = -1;

	if (file && !fstat(fileno(file), &status)) {
		input->size = (size_t)status.st_size;
		input->trace = malloc(input->size + 1);
		if (input->trace && fread(input->trace, 1, input->size, file) == input->size)
			result = 0;
	}
	if (result)
		perror(path);
	if (file)
		fclose(file);
	return result;
}

int input_find_psb(struct input *input)
{
	static const uint8_t psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
	                                2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	const uint8_t *found = memmem(input->trace, input->size, psb, sizeof(psb));

	if (!found) {
		fprintf(stderr, "bench: %s: no PSB in the trace\n", input->name);
		return -1;
	}
	input->first_psb = (uint64_t)(found - input->trace);
	return 0;
}

void input_free(struct input *input)
{
	for (size_t i = 0; i < input->nsections; ++i)
		free(input->section[i].path);
	free(input->section);
	free(input->trace);
	memset(input, 0, sizeof(*input));
}

/* The README of the corpus says how they were recorded. Code is a file, or a folder of ADDRESS.bin. */
static const struct hardware {
	const char *name, *trace, *code;
	uint64_t vaddr; /* of the file */
	uint8_t model, stepping, mtc_freq, nom_freq;
	uint32_t eax, ebx;
} hardware[] = {
        {"hw-mruby", "trace.pt", "mem", 0, 94, 3, 0, 0, 0, 0},
        {"hw-unzip", "trace.pt", "mem", 0, 94, 3, 0, 0, 0, 0},
        {"hw-hello", "pt.bin", "hello", 0x400000, 85, 4, 3, 37, 2, 308},
};

const char *const input_hardware_names[] = {"hw-mruby", "hw-unzip", "hw-hello", NULL};

static int add_file(struct input *input, const char *path, uint64_t vaddr)
{
	struct stat status;

	if (stat(path, &status)) {
		perror(path);
		return -1;
	}
	return input_add_section(input, path, 0, (uint64_t)status.st_size, vaddr);
}

static int add_folder(struct input *input, const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int status = 0;

	if (!folder) {
		perror(path);
		return -1;
	}
	while (!status && (entry = readdir(folder))) {
		char file[512];

		snprintf(file, sizeof(file), "%.200s/%.200s", path, entry->d_name);
		if (entry->d_name[0] != '.')
			status = add_file(input, file, strtoull(entry->d_name, NULL, 16));
	}
	closedir(folder);
	return status;
}

static int read_hardware(struct input *input, const char *corpus, const struct hardware *source)
{
	struct pt_config *config = &input->config;
	char path[512];
	struct stat status;

	snprintf(input->name, sizeof(input->name), "%s", source->name);
	pt_config_init(config);
	config->cpu = (struct pt_cpu){pcv_intel, 6, source->model, source->stepping};
	config->mtc_freq = source->mtc_freq;
	config->nom_freq = source->nom_freq;
	config->cpuid_0x15_eax = source->eax;
	config->cpuid_0x15_ebx = source->ebx;
	snprintf(path, sizeof(path), "%.200s/%s/%s", corpus, source->name, source->trace);
	if (access(path, R_OK))
		return 1;
	if (input_read_trace(input, path) < 0 || input_find_psb(input) < 0)
		return -1;
	snprintf(path, sizeof(path), "%.200s/%s/%s", corpus, source->name, source->code);
	if (!stat(path, &status) && S_ISDIR(status.st_mode))
		return add_folder(input, path);
	return add_file(input, path, source->vaddr);
}

int input_hardware(struct input *input, const char *corpus, const char *name)
{
	memset(input, 0, sizeof(*input));
	for (size_t i = 0; i < sizeof(hardware) / sizeof(hardware[0]); ++i)
		if (!strcmp(hardware[i].name, name))
			return read_hardware(input, corpus, &hardware[i]);
	return 1;
}
