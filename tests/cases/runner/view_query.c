/* view_query.c - see view_query.h.
 *
 * No code is followed: the decoder is asked for what the trace has next, be it an event, an outcome or a
 * target. An error of all questions ends the view.
 */
#include "view_query.h"

#include <inttypes.h>
#include <string.h>

#include "event_text.h"
#include "names.h"

/* A trace of a few packets has fewer answers; a decoder that gives more is in a loop. */
enum { max_answers = 20000 };

static void print_status(FILE *out, int status)
{
	if (status & pts_ip_suppressed)
		fputs(" ip_suppressed", out);
	if (status & pts_eos)
		fputs(" eos", out);
	fputc('\n', out);
}

static int ask_event(FILE *out, const struct view *view, struct pt_query_decoder *decoder)
{
	struct pt_event event;
	int status;

	memset(&event, 0, sizeof(event));
	status = view->api->pt_qry_event(decoder, &event, sizeof(event));
	if (status < 0)
		return status;
	fputc('[', out);
	event_print(out, &event, view->program);
	fputc(']', out);
	print_status(out, status);
	return status;
}

static int ask_branch(FILE *out, const struct view *view, struct pt_query_decoder *decoder)
{
	uint64_t ip = 0;
	int taken = 0, status;

	status = view->api->pt_qry_cond_branch(decoder, &taken);
	if (status >= 0) {
		fputs(taken ? "taken" : "not-taken", out);
		print_status(out, status);
		return status;
	}
	status = view->api->pt_qry_indirect_branch(decoder, &ip);
	if (status < 0)
		return status;
	fputs("to", out);
	if (!(status & pts_ip_suppressed)) {
		fputc(' ', out);
		program_print_address(out, view->program, ip);
	}
	print_status(out, status);
	return status;
}

static int synchronise(FILE *out, const struct view *view, struct pt_query_decoder *decoder)
{
	const struct api *api = view->api;
	uint64_t ip = 0;
	int status;

	if (view->file->sync == case_sync_set)
		status = api->pt_qry_sync_set(decoder, &ip, view->file->sync_offset);
	else if (view->file->sync == case_sync_backward)
		status = api->pt_qry_sync_backward(decoder, &ip);
	else
		status = api->pt_qry_sync_forward(decoder, &ip);
	if (status < 0)
		return status;
	fputs("sync", out);
	if (!(status & pts_ip_suppressed)) {
		fputc(' ', out);
		program_print_address(out, view->program, ip);
	}
	print_status(out, status);
	return status;
}

void print_query(FILE *out, const struct view *view)
{
	struct pt_config config = view->config;
	struct pt_query_decoder *decoder;
	int status;

	config.flags.variant.query.keep_tcal_on_ovf = view->file->flag_keep_tcal & 1;
	config.flags.variant.query.enable_iflags_events = view->file->flag_iflags & 1;
	decoder = view->api->pt_qry_alloc_decoder(&config);
	if (!decoder) {
		fprintf(out, "no decoder\n");
		return;
	}
	status = synchronise(out, view, decoder);
	for (unsigned n = 0; status >= 0 && n < max_answers; ++n)
		status = status & pts_event_pending ? ask_event(out, view, decoder)
		                                    : ask_branch(out, view, decoder);
	fprintf(out, "error %s\n", error_name(status));
	view->api->pt_qry_free_decoder(decoder);
}
