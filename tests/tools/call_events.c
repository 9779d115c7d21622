/* call_events RECORDING ROOT [LOG]: which functions the recorded threads entered and left, as sb_calls says
 * it.
 *
 * Without a log: "TID DEPTH enter|leave HOW NAME RETURN-ADDRESS UNSURE" for each. With one, which holds
 * addresses of functions (see workloads/stacks.h): whenever one of these is called, a line with all of them
 * that are on the stack then, the outermost first, and "?" behind it if one of them is a guess. The last line
 * on stderr holds the sums. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/call_stack.h>
#include <sb/perfdata.h>
#include <sb/replay.h>

struct events {
	struct sb_calls *calls;
	uint64_t *known; /* addresses, sorted */
	size_t nknown;
	int all;
	uint64_t ran, guessed; /* instructions; in functions that are a guess */
	struct {
		uint64_t enter[sb_enters], leave[sb_leaves];
	} count;
	uint32_t deepest;
	int is_wrong;
};

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static int is_known(const struct events *events, uint64_t ip)
{
	return events->nknown && bsearch(&ip, events->known, events->nknown, sizeof(ip), compare) != NULL;
}

static int read_known(struct events *events, const char *path)
{
	FILE *file = fopen(path, "r");
	char word[64];

	if (!file)
		return -1;
	while (fscanf(file, "%63s", word) == 1) {
		events->known = realloc(events->known, (events->nknown + 1) * sizeof(*events->known));
		if (!events->known)
			return -1;
		events->known[events->nknown++] = strtoull(word, NULL, 16);
	}
	fclose(file);
	if (events->nknown)
		qsort(events->known, events->nknown, sizeof(*events->known), compare);
	return 0;
}

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct events *events = context;

	events->ran += ninsn;
	events->guessed += sb_calls_top(thread)->unsure ? ninsn : 0;
	return 0;
}

static void print_event(const struct sb_call_thread *thread, const char *what, const char *how)
{
	const struct sb_call_frame *top = sb_calls_top(thread);

	printf("%d %u %s %s %s 0x%" PRIx64 "%s\n", thread->tid, thread->depth, what, how,
	       top->function->name ? top->function->name : "-", top->return_ip, top->unsure ? " unsure" : "");
}

static void print_stack(const struct events *events, const struct sb_call_thread *thread)
{
	const char *between = "";
	int unsure = 0;

	for (uint32_t i = 0; i < thread->depth; ++i) {
		const struct sb_call_frame *frame = &thread->frame[i];

		/* What was not entered at its beginning may be one of them; and what comes again may have
		 * been. */
		if (frame->how == sb_enter_found || frame->how == sb_enter_jump ||
		    frame->how == sb_enter_again)
			unsure |= frame->unsure;
		if (!is_known(events, frame->ip))
			continue;
		unsure |= frame->unsure;
		printf("%s%012" PRIx64, between, frame->ip);
		between = " ";
	}
	printf("%s\n", unsure ? " ?" : "");
}

static int on_enter(void *context, struct sb_call_thread *thread)
{
	struct events *events = context;
	struct sb_call_frame *top = sb_calls_top(thread);

	events->count.enter[top->how] += 1;
	if (thread->depth > events->deepest)
		events->deepest = thread->depth;
	top->note.number = thread->depth;
	if (events->all)
		print_event(thread, "enter", sb_enter_name((enum sb_enter)top->how));
	if (!is_known(events, top->ip) || top->how == sb_enter_again || top->how == sb_enter_found)
		return 0;
	print_stack(events, thread);
	return 0;
}

static int on_leave(void *context, struct sb_call_thread *thread, enum sb_leave how)
{
	struct events *events = context;

	events->count.leave[how] += 1;
	if (sb_calls_top(thread)->note.number != thread->depth)
		events->is_wrong = 1;
	if (events->all)
		print_event(thread, "leave", sb_leave_name(how));
	return 0;
}

static int on_flow(void *context, const struct sb_flow *flow)
{
	return sb_calls_flow(((struct events *)context)->calls, flow);
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	return sb_calls_gap(((struct events *)context)->calls, gap);
}

static void print_sums(const struct events *events, const struct sb_account *account)
{
	const struct sb_calls_doubts doubts = sb_calls_doubts(events->calls);

	fprintf(stderr, "ran %" PRIu64 " of %" PRIu64 ", %" PRIu64 " guessed, deepest %u;", events->ran,
	        account->ninsn, events->guessed, events->deepest);
	for (int i = 0; i < sb_enters; ++i)
		fprintf(stderr, " %s %" PRIu64, sb_enter_name((enum sb_enter)i), events->count.enter[i]);
	fprintf(stderr, ";");
	for (int i = 0; i < sb_leaves; ++i)
		fprintf(stderr, " %s %" PRIu64, sb_leave_name((enum sb_leave)i), events->count.leave[i]);
	fprintf(stderr,
	        "; returns %" PRIu64 " unwound %" PRIu64 " switched %" PRIu64 " found %" PRIu64
	        " lost %" PRIu64 "\n",
	        doubts.returns, doubts.unwound, doubts.switched, doubts.found, doubts.lost);
}

static int run(struct events *events, const char *recording, const char *root, struct sb_error *err)
{
	const struct sb_root roots = {.layer = &root, .nlayers = 1};
	const struct sb_resolver_options where = {
	        .size = sizeof(where), .root = &roots, .nroots = 1, .no_host_root = 1};
	const struct sb_symbols_options names = {.size = sizeof(names)};
	struct sb_replay_options options = {.size = sizeof(options), .by_time = 1};
	const struct sb_sink sink = {.context = events, .flow = on_flow, .gap = on_gap};
	const struct sb_calls_consumer consumer = {
	        .context = events, .run = on_run, .enter = on_enter, .leave = on_leave};
	struct sb_calls_options calls = {.size = sizeof(calls)};
	struct sb_perfdata *perfdata = NULL;
	struct sb_session *session = NULL;
	int status = sb_perfdata_open(&perfdata, recording, err);

	if (status == 0)
		status = sb_resolver_open(&options.resolver, &where, err);
	if (status == 0)
		status = sb_symbols_new(&calls.symbols, options.resolver, &names, err);
	if (status == 0)
		status = sb_session_open(&session, perfdata, &options, err);
	if (status == 0)
		status = sb_symbols_add_recording(calls.symbols, perfdata, sb_session_system(session), err);
	if (status == 0) {
		calls.clock = &sb_perfdata_info(perfdata)->clock;
		calls.system = sb_session_system(session);
		if (getenv("WITHOUT_SYMBOLS")) {
			sb_symbols_free(calls.symbols);
			calls.symbols = NULL;
		}
		status = sb_calls_new(&events->calls, &calls, &consumer, err);
	}
	if (status == 0)
		status = sb_session_run(session, &sink, err);
	if (status == 0)
		status = sb_calls_finish(events->calls);
	if (status == 0)
		print_sums(events, sb_session_account(session));
	if (status == 0 && (events->ran != sb_session_account(session)->ninsn || events->is_wrong)) {
		fprintf(stderr, "call_events: the sums are wrong, or frames lost their notes\n");
		status = -1;
	}
	sb_calls_free(events->calls);
	sb_session_close(session);
	sb_symbols_free(calls.symbols);
	sb_resolver_free(options.resolver);
	sb_perfdata_close(perfdata);
	return status;
}

int main(int argc, char **argv)
{
	struct events events = {.all = argc == 3};
	struct sb_error err = {0};
	char text[1024];
	int status;

	if (argc < 3 || (argc > 3 && read_known(&events, argv[3]) < 0)) {
		fprintf(stderr, "usage: call_events RECORDING ROOT [LOG]\n");
		return 2;
	}
	status = run(&events, argv[1], argv[2], &err);
	if (status < 0)
		fprintf(stderr, "call_events: %s\n", sb_error_string(&err, text, sizeof(text)));
	free(events.known);
	return status < 0;
}
