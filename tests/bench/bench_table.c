/* bench_table.c - results of a benchmark as a Markdown table.
 *
 *   bench_table FILE.json
 */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Three digits that count. */
static void print_number(double value)
{
	enum { most_places = 5 };
	const double size = value < 0 ? -value : value;
	int places = 0;

	if (size >= 1e6) {
		printf("%.2f M", value / 1e6);
		return;
	}
	for (double digits = size; digits < 99.95 && places < most_places; digits *= 10)
		places += 1;
	printf("%.*f", places, value);
}

static void print_head(const json_t *root)
{
	const json_t *machine = json_object_get(root, "machine");

	printf("%s, %.0f CPUs, Linux %s, load %.1f at the start; %s", text(machine, "cpu"),
	       number(machine, "cpus"), text(machine, "kernel"), number(machine, "load_at_start"),
	       text(root, "date"));
	if (*text(machine, "fastest"))
		printf("; libraries on %s", text(machine, "fastest"));
	if (*text(root, "commit"))
		printf(", commit %s", text(root, "commit"));
	if (*text(root, "command"))
		printf("; `%s`", text(root, "command"));
	printf("\n\n| measure | input | beside | its median (min) | our median (min) | unit | "
	       "its MB/s | our MB/s | figure | at least | aim | reached |\n"
	       "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

static void print_side(const json_t *side)
{
	size_t n = json_array_size(json_object_get(side, "samples"));

	if (!side) {
		printf(" |");
		return;
	}
	printf(" ");
	print_number(number(side, "median"));
	if (n > 1) {
		printf(" (");
		print_number(number(side, "min"));
		printf(")");
	}
	printf(" |");
}

static void print_rate(const json_t *side)
{
	printf(" ");
	if (number(side, "mb_per_s") > 0)
		print_number(number(side, "mb_per_s"));
	printf(" |");
}

/* How a figure is written, and on which side of a goal it has to be. */
static const struct goal_text {
	const char *name, *before, *behind;
	int upward;
} goals[] = {
        {"none", "", "x", 1}, {"times as fast", "", "x", 1},     {"times the other", "", "", 0},
        {"value", "", "", 0}, {"items per second", "", "/s", 1},
};

static const struct goal_text *goal_of(const json_t *row)
{
	for (size_t i = 0; i < sizeof(goals) / sizeof(goals[0]); ++i)
		if (!strcmp(text(row, "goal"), goals[i].name))
			return &goals[i];
	return &goals[0];
}

static void print_figure(const struct goal_text *goal, const json_t *value)
{
	printf(" ");
	if (json_number_value(value) > 0) {
		print_number(json_number_value(value));
		printf("%s", goal->behind);
	}
	printf(" |");
}

static int reached(const struct goal_text *goal, double figure, double wanted)
{
	return goal->upward ? figure >= wanted : figure <= wanted;
}

static const char *verdict(const json_t *row, const struct goal_text *goal)
{
	double figure = number(row, "figure");

	if (!json_object_get(row, "at_least"))
		return "";
	if (!reached(goal, figure, number(row, "at_least")))
		return "**no**";
	if (json_object_get(row, "aim") && reached(goal, figure, number(row, "aim")))
		return "aim";
	return "yes";
}

static void print_row(const json_t *row)
{
	const json_t *other = json_object_get(row, "other"), *ours = json_object_get(row, "ours");
	const struct goal_text *goal = goal_of(row);

	if (json_object_get(row, "skipped")) {
		printf("| %s | %s | skipped: %s | | | | | | | | | |\n", text(row, "measure"),
		       text(row, "input"), text(row, "skipped"));
		return;
	}
	printf("| %s | %s | %s |", text(row, "measure"), text(row, "input"), text(other, "name"));
	print_side(other);
	print_side(ours);
	printf(" %s |", text(row, "unit"));
	print_rate(other);
	print_rate(ours);
	if (other || strcmp(text(row, "goal"), "none"))
		print_figure(goal, json_object_get(row, "figure"));
	else
		printf(" |");
	print_figure(goal, json_object_get(row, "at_least"));
	print_figure(goal, json_object_get(row, "aim"));
	printf(" %s%s |\n", verdict(row, goal),
	       json_is_false(json_object_get(row, "counts_agree")) ? " **counts differ**" : "");
}

static void print_notes(const json_t *rows)
{
	size_t i;
	const json_t *row;

	json_array_foreach(rows, i, row) if (*text(row, "note"))
	        printf("\n%s, %s: %s.\n", text(row, "measure"), text(row, "input"), text(row, "note"));
}

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *root, *rows, *row;
	size_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_table FILE.json\n");
		return 2;
	}
	root = json_load_file(argv[1], 0, &error);
	rows = json_object_get(root, "rows");
	if (!json_is_array(rows)) {
		fprintf(stderr, "bench_table: %s: %s\n", argv[1], root ? "no results" : error.text);
		json_decref(root);
		return 1;
	}
	print_head(root);
	json_array_foreach(rows, i, row) print_row(row);
	print_notes(rows);
	json_decref(root);
	return 0;
}
