/* run.c - see run.h. */
#include "run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_truth(const struct comparer *comparer, const struct diff_case *c, enum layer layer,
                        const struct verdict *verdict, int side)
{
	uint64_t n = verdict->nright[side];

	if (verdict->right[side] == 0)
		printf("%s: layer %s: %s is WRONG at instruction %" PRIu64 ": %" PRIx64 " is %" PRIx64 "\n",
		       c->name, layer_names[layer], comparer->side[side].name, n, c->truth[n],
		       verdict->got[side]);
	if (verdict->right[side] == 1)
		printf("%s: layer %s: %s is right, %" PRIu64 " instructions\n", c->name, layer_names[layer],
		       comparer->side[side].name, n);
}

static void count(struct tally *tally, const struct verdict *verdict, enum layer layer)
{
	tally->records += verdict->records;
	if (verdict->skipped) {
		++tally->skipped[layer];
		return;
	}
	++tally->compared[layer];
	tally->different[layer] += verdict->differs != 0;
	for (int side = 0; side < sides; ++side) {
		tally->right[side] += verdict->right[side] == 1;
		tally->wrong[side] += verdict->right[side] == 0;
	}
}

/* In CPU time, so that a busy machine does not make a hang. */
static void set_timer(unsigned milliseconds)
{
	struct itimerval timer = {
	        .it_value = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000}};

	setitimer(ITIMER_PROF, &timer, NULL);
}

static void run_layer(struct comparer *comparer, const struct run_plan *plan, struct tally *tally,
                      const struct diff_case *c, enum layer layer)
{
	struct verdict verdict;

	/* 2.0.5 goes in circles there now and then. */
	set_timer(layer == layer_psb_back ? plan->timeout / 10 : plan->timeout);
	compare(comparer, c, layer, &verdict);
	if (layer == layer_insn)
		comparer->insn_agreed = !verdict.skipped && !verdict.differs;
	set_timer(0);
	count(tally, &verdict, layer);
	if (verdict.differs)
		signature_count(&tally->signatures[layer], verdict.signature, c->name);
	if (plan->verbose && !verdict.skipped && !verdict.differs)
		printf("%s: layer %s equal, %" PRIu64 " records\n", c->name, layer_names[layer],
		       verdict.records);
	if (plan->verbose || verdict.differs || verdict.right[side_ours] == 0)
		for (int side = 0; side < sides; ++side)
			print_truth(comparer, c, layer, &verdict, side);
}

/* From case @at, layer @layer on. */
static void run_from(struct comparer *comparer, const struct run_plan *plan, struct tally *tally, uint64_t at,
                     int layer)
{
	for (; at < plan->count; ++at, layer = 0) {
		struct diff_case c;

		tally->at = at;
		tally->layer = layer_count;
		if (!plan->make(plan->context, &c, at))
			continue;
		tally->cases += layer == 0;
		comparer->insn_agreed = 0;
		for (; layer < layer_count; ++layer) {
			tally->layer = layer;
			if (plan->layers & 1u << layer)
				run_layer(comparer, plan, tally, &c, (enum layer)layer);
		}
		case_free(&c);
	}
}

/* The child ended with @status in the middle of a case: whose doing was it? */
static void blame(struct tally *tally, const struct comparer *comparer, int status)
{
	int side = tally->progress.side, signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	const char *name = side < sides ? comparer->side[side].name : "the test itself";

	printf("case %" PRIu64 ", layer %s: %s %s (status %x)\n", tally->at,
	       tally->layer < layer_count ? layer_names[tally->layer] : "none", name,
	       signal == SIGPROF ? "HANGS" : "CRASHES", (unsigned)status);
	if (side >= sides)
		side = side_ours;
	if (signal == SIGPROF)
		++tally->hung[side];
	else
		++tally->crashed[side];
}

struct tally *run(struct comparer *comparer, const struct run_plan *plan)
{
	struct tally *tally =
	        mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, layer = 0;
	uint64_t at = 0;
	pid_t child;

	if (tally == MAP_FAILED)
		return NULL;
	comparer->progress = &tally->progress;
	comparer->known = tally->known;
	while (at < plan->count) {
		fflush(stdout);
		tally->progress.side = sides;
		child = fork();
		if (!child) {
			run_from(comparer, plan, tally, at, layer);
			fflush(stdout);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0)
			return NULL;
		if (!status)
			break;
		blame(tally, comparer, status);
		at = tally->at;
		layer = tally->layer + 1;
		if (layer >= layer_count) {
			layer = 0;
			++at;
		}
	}
	return tally;
}

int run_report(const struct tally *tally)
{
	uint64_t bad = tally->crashed[side_ours] + tally->hung[side_ours];

	printf("%" PRIu64 " cases, %" PRIu64 " records\n", tally->cases, tally->records);
	for (int layer = 0; layer < layer_count; ++layer) {
		if (tally->compared[layer])
			printf("layer %-8s: %" PRIu64 " compared, %" PRIu64 " different\n",
			       layer_names[layer], tally->compared[layer], tally->different[layer]);
		signature_print(&tally->signatures[layer]);
		if (tally->skipped[layer])
			printf("layer %-8s: %" PRIu64 " SKIPPED\n", layer_names[layer],
			       tally->skipped[layer]);
		bad += tally->different[layer];
	}
	printf("truth: ours right %" PRIu64 ", wrong %" PRIu64 "; debian right %" PRIu64 ", wrong %" PRIu64
	       "\n",
	       tally->right[side_ours], tally->wrong[side_ours], tally->right[side_debian],
	       tally->wrong[side_debian]);
	printf("crashes: ours %" PRIu64 ", debian %" PRIu64 "; hangs: ours %" PRIu64 ", debian %" PRIu64 "\n",
	       tally->crashed[side_ours], tally->crashed[side_debian], tally->hung[side_ours],
	       tally->hung[side_debian]);
	for (int row = 0; row < known_count; ++row)
		if (tally->known[row] && known_reason(row))
			printf("known: %" PRIu64 " times: %s\n", tally->known[row], known_reason(row));
	return bad + tally->wrong[side_ours] != 0;
}
