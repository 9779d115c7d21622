/* difference_print.c - see difference_print.h. Names come from files and recordings: what a terminal might
 * obey is escaped in text; JSON is made of dump/json_values.h's. */
#include "diff/difference_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "dump/json_values.h"
#include "sink/printable.h"

enum { shown_most = 1024 };

/* The rows of a kind, and how many of them are told. */
struct section {
	const struct difference_row *row;
	size_t count, told;
};

static struct section section_of(const struct difference_print *print, int class)
{
	const struct difference *difference = print->difference;
	const size_t begin[] = {0, difference->only_a, difference->only_a + difference->only_b};
	const size_t count[] = {difference->only_a, difference->only_b, difference->moved};

	return (struct section){count[class] ? difference->row + begin[class] : NULL, count[class],
	                        print->most && print->most < count[class] ? print->most : count[class]};
}

static const char *unit(enum tally_by by)
{
	static const char *const name[tally_bys] = {
	        [tally_function] = "instructions", [tally_line] = "times", [tally_block] = "times"};

	return name[by];
}

/* ---- Text ------------------------------------------------------------------------------------- */

static int put_place(const struct difference_print *print, const struct difference_row *row,
                     struct output *output)
{
	char file[4 * shown_most + 1], name[4 * shown_most + 1];

	printable(file, row->file, shown_most);
	printable(name, row->name, shown_most);
	if (print->by == tally_line)
		return output_printf(output, "%s:%" PRIu64 "\n", file, row->begin);
	output_printf(output, "%.2000s ", name);
	if (print->by == tally_block)
		output_printf(output, "%" PRIx64 "-%" PRIx64 " ", row->begin, row->end);
	return output_printf(output, "(%.2000s)\n", file);
}

static void put_rest(const struct section *section, struct output *output)
{
	if (section->told < section->count)
		output_printf(output, "%16s  %zu more\n", "", section->count - section->told);
}

static void put_only(const struct difference_print *print, int class, const char *name, struct output *output)
{
	const struct section section = section_of(print, class);

	if (!section.count)
		return;
	output_printf(output, "\nonly in %s: %zu\n%16s\n", name, section.count, unit(print->by));
	for (size_t i = 0; i < section.told; i++) {
		output_printf(output, "%16" PRIu64 "  ", class ? section.row[i].b : section.row[i].a);
		put_place(print, &section.row[i], output);
	}
	put_rest(&section, output);
}

static void put_moved(const struct difference_print *print, struct output *output)
{
	const struct section section = section_of(print, 2);

	if (!section.count)
		return;
	output_printf(output, "\nin both, not equally often: %zu\n%16s %16s %17s\n", section.count, "A", "B",
	              "change");
	for (size_t i = 0; i < section.told; i++) {
		const struct difference_row *row = &section.row[i];
		const bool more = row->b >= row->a;

		output_printf(output, "%16" PRIu64 " %16" PRIu64 " %c%16" PRIu64 "  ", row->a, row->b,
		              more ? '+' : '-', more ? row->b - row->a : row->a - row->b);
		put_place(print, row, output);
	}
	put_rest(&section, output);
}

int difference_print_text(const struct difference_print *print, struct output *output)
{
	char a[4 * shown_most + 1], b[4 * shown_most + 1];

	printable(a, print->a, shown_most);
	printable(b, print->b, shown_most);
	output_printf(output, "A: %.4000s\n", a);
	output_printf(output, "B: %.4000s\n", b);
	put_only(print, 0, "A", output);
	put_only(print, 1, "B", output);
	put_moved(print, output);
	return output_printf(output, "\n%" PRIu64 " %ss equal\n", print->difference->same,
	                     tally_by_name[print->by]);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static json_t *row_value(const struct difference_print *print, const struct difference_row *row)
{
	json_t *value = json_object();

	json_object_set_new(value, "file", json_text(row->file));
	if (print->by != tally_line)
		json_object_set_new(value, "function",
		                    strcmp(row->name, "-") ? json_text(row->name) : json_null());
	if (print->by == tally_line)
		json_object_set_new(value, "line", json_unsigned(row->begin));
	if (print->by == tally_block) {
		json_object_set_new(value, "begin", json_unsigned(row->begin));
		json_object_set_new(value, "end", json_unsigned(row->end));
	}
	json_object_set_new(value, "a", json_unsigned(row->a));
	json_object_set_new(value, "b", json_unsigned(row->b));
	if (print->by == tally_function) {
		json_object_set_new(value, "a_calls", json_unsigned(row->a_calls));
		json_object_set_new(value, "b_calls", json_unsigned(row->b_calls));
	}
	return value;
}

static json_t *section_value(const struct difference_print *print, int class)
{
	const struct section section = section_of(print, class);
	json_t *value = json_array();

	for (size_t i = 0; i < section.told; i++)
		json_array_append_new(value, row_value(print, &section.row[i]));
	return value;
}

static int put_bytes(const char *bytes, size_t size, void *context)
{
	return output_write(context, bytes, size);
}

int difference_print_json(const struct difference_print *print, struct output *output)
{
	const struct difference *difference = print->difference;
	json_t *value = json_object();
	int status;

	json_object_set_new(value, "by", json_string(tally_by_name[print->by]));
	json_object_set_new(value, "a", json_text(print->a));
	json_object_set_new(value, "b", json_text(print->b));
	json_object_set_new(value, "equal", json_unsigned(difference->same));
	json_object_set_new(value, "only_a", section_value(print, 0));
	json_object_set_new(value, "only_b", section_value(print, 1));
	json_object_set_new(value, "moved", section_value(print, 2));
	status = value ? json_dump_callback(value, put_bytes, output, JSON_INDENT(1)) : -1;
	json_decref(value);
	return status ? status : output_printf(output, "\n");
}
