/* test_event.c - the public event decoder: every kind of event, what binds to what, and how a caller's struct
 * of another size is filled. Intel SDM vol. 3, "Compound Packet Events" and "Event Trace".
 *
 * A case is packets and the events that must come out, both as text; so is the query decoder where it does
 * other than libipt 2.0.5 (test_query_differential.c has the rest).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "event/event_packets.h"
#include "support/event_names.h"
#include "support/stream.h"

/* The variant's words, trailing zeros left out. */
static void print_variant(char *text, size_t size, const struct pt_event *event)
{
	uint64_t word[sizeof(event->variant) / sizeof(uint64_t)];
	size_t count = sizeof(word) / sizeof(*word), used = 0;

	memcpy(word, &event->variant, sizeof(word));
	while (count && !word[count - 1])
		count -= 1;
	*text = 0;
	for (size_t i = 0; i < count && used < size; ++i)
		used += (size_t)snprintf(text + used, size - used, "%c%llx", i ? ',' : ' ',
		                         (unsigned long long)word[i]);
}

struct text {
	char events[2048];
	size_t size;
};

static void append(struct text *text, const char *event)
{
	int size = snprintf(text->events + text->size, sizeof(text->events) - text->size, "%s%s",
	                    text->size ? "; " : "", event);

	assert_true(size > 0 && text->size + (size_t)size < sizeof(text->events));
	text->size += (size_t)size;
}

static void append_event(struct text *text, const struct pt_event *event)
{
	char variant[128], line[256], time[64] = "";

	print_variant(variant, sizeof(variant), event);
	if (event->has_tsc)
		snprintf(time, sizeof(time), " @%llx", (unsigned long long)event->tsc);
	snprintf(line, sizeof(line), "%s%s%s%s%s", event_names[event->type],
	         event->status_update ? " status" : "", event->ip_suppressed ? " -" : "", variant, time);
	append(text, line);
}

static const char *error_name(int status)
{
	switch (status) {
	case -pte_eos:
		return "eos";
	case -pte_bad_context:
		return "bad_context";
	case -pte_bad_packet:
		return "bad_packet";
	case -pte_bad_opc:
		return "bad_opc";
	case -pte_nomem:
		return "nomem";
	case -pte_noip:
		return "noip";
	case -pte_ip_suppressed:
		return "ip_suppressed";
	default:
		return "?";
	}
}

static void read_events(struct text *text, const struct pt_config *config)
{
	struct pt_event_decoder *decoder = pt_evt_alloc_decoder(config);
	struct pt_event event;
	int status;

	assert_non_null(decoder);
	text->size = 0;
	status = pt_evt_sync_forward(decoder);
	while (status >= 0) {
		status = pt_evt_next(decoder, &event, sizeof(event));
		if (status >= 0)
			append_event(text, &event);
	}
	append(text, error_name(status));
	pt_evt_free_decoder(decoder);
}

struct event_case {
	const char *packets, *events;
};

static void check_cases(const struct event_case *cases, size_t count, int iflags)
{
	for (size_t i = 0; i < count; ++i) {
		struct stream stream;
		struct pt_config config;
		struct text text;

		stream_clear(&stream);
		stream_write(&stream, cases[i].packets);
		config = stream_config(&stream);
		config.flags.variant.event.enable_iflags_events = iflags != 0;
		read_events(&text, &config);
		if (strcmp(text.events, cases[i].events) != 0)
			fail_msg("%s:\n%s\nbut should be\n%s", cases[i].packets, text.events,
			         cases[i].events);
	}
}

#define CHECK(cases, iflags) check_cases(cases, sizeof(cases) / sizeof(*(cases)), iflags)

static void packets_become_events(void **state)
{
	static const struct event_case cases[] = {
	        /* branches: the oldest outcome is the highest bit */
	        {"psb psbend tnt:1101 tnt64:10 tip:1000 tip:-",
	         "tnt d,4; tnt 2,2; tip 1000; tip - 1000; eos"},
	        {"psb psbend pge:1000 pgd:2000 pge:~3000 pgd:-",
	         "enabled 1000; disabled 2000; enabled 3000; disabled -; eos"},
	        {"psb psbend fup:1000 tip:2000 fup:~1100 tip:- fup:~1200 pgd:3000 fup:~1300 pgd:-",
	         "async_branch 1000,2000; async_branch - 1100; async_disabled 1200,3000; "
	         "async_disabled - 1300; eos"},
	        /* an asynchronous branch waits for its TIP behind branches that come first */
	        {"psb psbend fup:1000 tnt:1 tip:2000", "tnt 1,1; async_branch 1000,2000; eos"},
	        /* with an asynchronous branch, CR3 and VMCS change at the target, the VMCS first */
	        {"psb psbend pip:5000,1 vmcs:6000 fup:1000 pip:7000,1 exec:32 vmcs:8000 tip:2000",
	         "paging 5000,1; vmcs 6000; async_branch 1000,2000; async_vmcs 8000,2000; "
	         "async_paging 7000,1,2000; exec_mode 2,2000; eos"},
	        {"psb psbend fup:1000 pip:7000 exec:64 pgd:-",
	         "async_disabled - 1000; async_paging - 7000; exec_mode - 3; eos"},
	        {"psb psbend exec:64 tip:2000 exec:32 pge:3000",
	         "tip 2000; exec_mode 3,2000; enabled 3000; exec_mode 2,3000; eos"},
	        {"psb psbend exec:16 tip:-", "tip -; exec_mode - 1; eos"},
	        {"psb psbend exec:64 pgd:2000", "disabled 2000; exec_mode - 3; eos"},
	        /* transactions */
	        {"psb psbend tsx:1 pge:1000 tsx:1 fup:~1100 tsx:0 fup:~1200 tsx:0,1 fup:~1300 tip:~1400",
	         "tsx - 0,1; enabled 1000; tsx 1100,1; tsx 1200; tsx 1300,2; async_branch 1300,1400; eos"},
	        {"psb fup:1000 psbend tsx:0,1 exstop:1 fup:~1300 tip:~1400",
	         "enabled status 1000; tsx 1300,2; exstop 1300; async_branch 1300,1400; eos"},
	        /* power, PTWRITE and others */
	        {"psb psbend exstop:0 exstop:1 fup:1000 mwait:11,22 fup:~2000",
	         "exstop -; exstop 1000; mwait 2000,2200000011; eos"},
	        {"psb psbend pwre:1,2,1 pwrx:3,4 cbr:15 mnt:99 stop",
	         "pwre 10201; pwrx 10403; cbr 15; mnt 99; stop; eos"},
	        {"psb psbend ptw:77,0 ptw:88,1 fup:1000", "ptwrite - 0,8,77; ptwrite 1000,8,88; eos"},
	        {"psb psbend ptw:77,1 ptw:88,1 fup:-", "ptwrite - 0,8,77; ptwrite - 0,8,88; eos"},
	        /* a stray PSBEND and padding mean nothing */
	        {"psb psbend pad psbend tnt:1 pad", "tnt 1,1; eos"},
	};

	(void)state;
	CHECK(cases, 0);
}

static void psb_plus_tells_the_state(void **state)
{
	static const struct event_case cases[] = {
	        {"psb fup:1000 exec:64 tsx:1 pip:5000 vmcs:6000 cbr:9 mnt:3 psbend",
	         "enabled status 1000; exec_mode status 3,1000; tsx status 1000,1; "
	         "async_paging status 5000,0,1000; async_vmcs status 6000,1000; cbr status 9; mnt 3; eos"},
	        {"psb exec:32 pip:5000 psbend", "exec_mode status - 2; async_paging status - 5000; eos"},
	        /* all at the time of its end */
	        {"psb fup:1000 exec:64 tsc:77 psbend",
	         "enabled status 1000 @77; exec_mode status 3,1000 @77; eos"},
	        {"psb fup:- exec:64 psbend", "exec_mode status - 3; eos"},
	        {"psb fup:1000 ovf fup:2000", "enabled status 1000; overflow 2000; eos"},
	        {"psb psbend tnt:1 psb fup:1000 psbend tip:~2000",
	         "tnt 1,1; enabled status 1000; tip 2000; eos"},
	        {"psb fup:1000 tnt:1", "bad_context"},
	        {"psb raw:9977 psbend", "bad_packet"},
	        {"psb fup:1000", "eos"},
	        {"psb exec:64 exec:64 exec:64 exec:64 exec:64 exec:64 exec:64 exec:64 exec:64 psbend",
	         "nomem"},
	        {"psb tsx:0 tsx:0 tsx:0 tsx:0 tsx:0 tsx:0 tsx:0 tsx:0 tsx:0 psbend", "nomem"},
	        {"psb pip:0 pip:0 pip:0 pip:0 pip:0 pip:0 pip:0 pip:0 pip:0 psbend", "nomem"},
	        {"psb vmcs:0 vmcs:0 vmcs:0 vmcs:0 vmcs:0 vmcs:0 vmcs:0 vmcs:0 vmcs:0 psbend", "nomem"},
	        {"psb cbr:1 cbr:1 cbr:1 cbr:1 cbr:1 cbr:1 cbr:1 cbr:1 cbr:1 psbend", "nomem"},
	        {"psb mnt:1 mnt:1 mnt:1 mnt:1 mnt:1 mnt:1 mnt:1 mnt:1 mnt:1 psbend", "nomem"},
	};

	(void)state;
	CHECK(cases, 0);
}

static void overflows_resolve(void **state)
{
	static const struct event_case cases[] = {
	        {"psb psbend ovf fup:1000 tnt:1", "overflow 1000; tnt 1,1; eos"},
	        {"psb psbend ovf cbr:7 tsc:99 mnt:1 fup:1000", "cbr 7; mnt 1 @99; overflow 1000; eos"},
	        {"psb psbend ovf tsc:99 pge:1000", "overflow -; enabled 1000 @99; eos"},
	        {"psb psbend ovf stop", "overflow -; stop; eos"},
	        {"psb psbend ovf", "overflow -; eos"},
	        {"psb psbend ovf psb fup:1000 psbend", "overflow -; enabled status 1000; eos"},
	        {"psb psbend ovf psb exec:64 psbend fup:1000", "exec_mode status - 3; overflow 1000; eos"},
	        {"psb psbend ovf ovf fup:1000", "overflow -; overflow 1000; eos"},
	        /* what waited is lost, and addresses begin anew */
	        {"psb psbend fup:123456780000 ptw:1,1 ovf fup:~1000 tip:~2000",
	         "overflow 1000; tip 2000; eos"},
	        {"psb psbend ovf tnt:1", "bad_context"},
	        {"psb psbend ovf pgd:1000", "bad_context"},
	        {"psb psbend ovf fup:-", "noip"},
	        {"psb psbend ovf raw:d9", "bad_opc"},
	};

	(void)state;
	CHECK(cases, 0);
}

/* What cannot be. */
static void packets_out_of_place(void **state)
{
	static const struct event_case cases[] = {
	        {"psb psbend fup:-", "noip"},
	        {"psb psbend tip:1000 fup:-", "tip 1000; ip_suppressed"},
	        {"psb fup:1000 psbend tsx:0,1 fup:-", "enabled status 1000; ip_suppressed"},
	        {"psb psbend pge:-", "bad_packet"},
	        {"psb psbend fup:1000 exec:64 pge:2000", "enabled 2000; bad_context"},
	        {"psb psbend mwait:1,2 tnt:1", "bad_context"},
	        {"psb psbend mwait:1,2 tnt64:1", "bad_context"},
	        {"psb psbend mwait:1,2 tip:1000", "bad_context"},
	        {"psb psbend exec:64 tnt:1", "bad_context"},
	        {"psb psbend raw:9977", "bad_packet"},
	        {"psb psbend raw:0252", "bad_packet"},
	        {"psb psbend tma:1,2", "bad_context"},
	        {"psb psbend raw:02130b00", "bad_packet"},      /* a CFE of no type */
	        {"psb psbend raw:0213ff00", "bad_packet"},      /* nor this one */
	        {"psb psbend raw:02530700000000000000", "eos"}, /* an EVD that is cut off */
	        {"psb psbend raw:0253070000000000000000", "bad_packet"},
	};
	static const char *const too_many[] = {"ptw:1,1 ",  "exec:64 ", "exstop:1 ", "mwait:1,2 ",
	                                       "fup:1000 ", "tsx:1 ",   "cfe:1,2,1 "};

	(void)state;
	CHECK(cases, 0);
	for (size_t i = 0; i < sizeof(too_many) / sizeof(*too_many); ++i) {
		char packets[512] = "psb fup:1000 psbend ";
		const struct event_case one = {packets, "enabled status 1000; nomem"};

		for (int n = 0; n < 9; ++n)
			strcat(packets, too_many[i]);
		check_cases(&one, 1, 0);
	}
	for (int vmcs = 0; vmcs < 2; ++vmcs) {
		char packets[512] = "psb psbend fup:1000 ";
		const struct event_case one = {packets, "nomem"};

		for (int n = 0; n < 8; ++n)
			strcat(packets, vmcs ? "vmcs:1000 " : "pip:1000 ");
		check_cases(&one, 1, 0);
	}
}

/* CFE with IP binds to a FUP, without it stands alone; EVDs come before it. Behind an asynchronous one's FUP
 * comes a TIP. */
static void event_trace(void **state)
{
	static const struct event_case cases[] = {
	        {"psb psbend cfe:1,e,1 fup:1000 tip:2000",
	         "interrupt e00,0,1000; async_branch 1000,2000; eos"},
	        {"psb psbend evd:0,4444 cfe:1,e,1 fup:1000 tip:2000",
	         "interrupt e01,4444,1000; async_branch 1000,2000; eos"},
	        {"psb psbend cfe:1,20", "interrupt - 2000; eos"},
	        {"psb psbend cfe:2,0,1 fup:1000 tip:2000", "iret 1000; tip 2000; eos"},
	        {"psb psbend cfe:3,0,1 fup:1000 pgd:-", "smi 1000; async_disabled - 1000; eos"},
	        {"psb psbend cfe:4,0,1 fup:1000 tip:2000", "rsm 1000; tip 2000; eos"},
	        {"psb psbend cfe:5,9a pge:2000", "sipi 9a; enabled 2000; eos"},
	        {"psb psbend cfe:6,0,1 fup:1000 tip:2000", "init 1000; async_branch 1000,2000; eos"},
	        {"psb psbend cfe:7,0,1 fup:1000 tip:2000", "vmentry 1000; tip 2000; eos"},
	        {"psb psbend evd:1,77 evd:2,1e cfe:8,0,1 fup:1000 tip:2000",
	         "vmexit 6,1e,77,1000; async_branch 1000,2000; eos"},
	        {"psb psbend evd:2,1 cfe:9,21,1 fup:1000 tip:2000",
	         "vmexit 2103,1,0,1000; async_branch 1000,2000; eos"},
	        {"psb psbend cfe:a,0,1 fup:1000 tip:2000", "shutdown 1000; async_branch 1000,2000; eos"},
	        {"psb psbend cfe:c,40,1 fup:1000 tip:2000", "uintr 40,1000; async_branch 1000,2000; eos"},
	        {"psb psbend cfe:d,0,1 fup:1000 tip:2000", "uiret 1000; tip 2000; eos"},
	        {"psb psbend cfe:e,80,1 fup:1000 tip:2000", "swintr 80,1000; tip 2000; eos"},
	        {"psb psbend cfe:f,0,1 fup:1000 tip:2000", "syscall 1000; tip 2000; eos"},
	        /* EVDs belong to one CFE, and are lost in an overflow */
	        {"psb psbend evd:0,4444 cfe:1,e cfe:1,e", "interrupt - e01,4444; interrupt - e00; eos"},
	        {"psb psbend evd:0,4444 ovf pge:1000 cfe:1,e",
	         "overflow -; enabled 1000; interrupt - e00; eos"},
	};

	(void)state;
	CHECK(cases, 0);
}

/* MODE.Exec's IF bit: told by PSB+, and where it changes; behind CLI or STI that is a FUP's address. */
static void the_interrupt_flag(void **state)
{
	static const struct event_case cases[] = {
	        {"psb fup:1000 exec:64,1 psbend exec:64 fup:~1100 exec:64 tip:~1200 exec:64,1 tip:~1300",
	         "enabled status 1000; exec_mode status 3,1000; iflags status 1,1000; exec_mode 3,1100; "
	         "iflags 0,1100; tip 1200; exec_mode 3,1200; tip 1300; exec_mode 3,1300; iflags 1,1300; eos"},
	        {"psb exec:64 psbend exec:64,1 pge:1000 psb fup:1000 exec:64,1 psbend",
	         "exec_mode status - 3; iflags status -; enabled 1000; exec_mode 3,1000; iflags 1,1000; "
	         "enabled status 1000; exec_mode status 3,1000; iflags status 1,1000; eos"},
	        {"psb exec:64 psbend ovf exec:64 pge:1000",
	         "exec_mode status - 3; iflags status -; overflow -; enabled 1000; exec_mode 3,1000; "
	         "iflags 0,1000; eos"},
	        {"psb psbend exec:64 exec:32,1 exec:64 exec:32,1 exec:64 tip:1000", "nomem"},
	        {"psb exec:64 exec:64 exec:64 exec:64 exec:64 psbend", "nomem"},
	};
	static const struct event_case not_asked_for[] = {
	        {"psb fup:1000 exec:64,1 psbend exec:64 fup:~1100",
	         "enabled status 1000; exec_mode status 3,1000; exec_mode 3,1100; eos"},
	};

	(void)state;
	CHECK(cases, 1);
	CHECK(not_asked_for, 0);
}

/* An event has the time of the packet that brought it, not of the one that it waited for. */
static void events_have_their_packets_time(void **state)
{
	static const struct event_case cases[] = {
	        {"psb tsc:10 psbend fup:1000 tsc:20 pip:5000 tsc:30 tip:2000 tsc:40 tnt:1",
	         "async_branch 1000,2000 @10; async_paging 5000,0,2000 @20; tnt 1,1 @40; eos"},
	        {"psb tsc:10 psbend ptw:1,1 tsc:20 fup:1000 tip:~2000",
	         "ptwrite 1000,8,1 @10; tip 2000 @20; eos"},
	};

	(void)state;
	CHECK(cases, 0);
}

/* CBR says one tick a cycle, but two MTCs showed that it is two; 24 ticks from one to the next. */
static uint64_t time_behind_overflow(int keep)
{
	struct pt_event_decoder *decoder;
	struct pt_event event = {0};
	struct stream stream;
	struct pt_config config;
	int status;

	stream_clear(&stream);
	stream_write(&stream, "psb tsc:1000 tma:100,0 psbend mtc:21 cyc:c mtc:22 ovf fup:1000 "
	                      "tsc:2000 tma:200,0 cyc:4 tnt:1");
	config = stream_config(&stream);
	config.cpuid_0x15_eax = 2;
	config.cpuid_0x15_ebx = 6;
	config.mtc_freq = 3;
	config.flags.variant.event.keep_tcal_on_ovf = keep != 0;
	decoder = pt_evt_alloc_decoder(&config);
	assert_int_equal(pt_evt_sync_forward(decoder), 0);
	do
		status = pt_evt_next(decoder, &event, sizeof(event));
	while (status >= 0 && event.type != ptev_tnt);
	assert_int_equal(event.type, ptev_tnt);
	pt_evt_free_decoder(decoder);
	return event.tsc;
}

static void calibration_may_outlive_an_overflow(void **state)
{
	(void)state;
	assert_int_equal(time_behind_overflow(0), 0x2000);
	assert_int_equal(time_behind_overflow(1), 0x2008);
}

/* Status bits: whether more events of the packet follow, the address is missing, or the trace has ended. */
static void status_bits(void **state)
{
	struct pt_event_decoder *decoder;
	struct pt_event event;
	struct stream stream;
	struct pt_config config;

	(void)state;
	stream_clear(&stream);
	stream_write(&stream, "psb psbend exec:64 tip:1000 tip:-");
	config = stream_config(&stream);
	decoder = pt_evt_alloc_decoder(&config);
	assert_int_equal(pt_evt_sync_forward(decoder), 0);
	assert_int_equal(pt_evt_next(decoder, &event, sizeof(event)), pts_event_pending);
	assert_int_equal(event.type, ptev_tip);
	assert_int_equal(pt_evt_next(decoder, &event, sizeof(event)), 0);
	assert_int_equal(event.type, ptev_exec_mode);
	assert_int_equal(pt_evt_next(decoder, &event, sizeof(event)), pts_ip_suppressed | pts_eos);
	assert_int_equal(pt_evt_next(decoder, &event, sizeof(event)), -pte_eos);
	pt_evt_free_decoder(decoder);
}

/* 2.0.5's struct has 64 bytes; a later one may be larger than ours. */
static void events_for_callers_of_any_version(void **state)
{
	struct stream stream;
	struct pt_config config;

	(void)state;
	stream_clear(&stream);
	stream_write(&stream, "psb psbend evd:1,77 evd:2,1e cfe:8,0,1 fup:1000");
	config = stream_config(&stream);
	for (size_t size = 0; size < 128; ++size) {
		struct pt_event_decoder *decoder = pt_evt_alloc_decoder(&config);
		struct pt_event whole;
		uint8_t user[128];

		assert_int_equal(pt_evt_sync_forward(decoder), 0);
		assert_true(pt_evt_next(decoder, &whole, sizeof(whole)) >= 0);
		assert_int_equal(whole.type, ptev_vmexit);
		assert_int_equal(pt_evt_sync_set(decoder, 0), 0);
		memset(user, 0xee, sizeof(user));
		if (size < offsetof(struct pt_event, variant)) {
			assert_int_equal(pt_evt_next(decoder, (struct pt_event *)user, size), -pte_invalid);
		} else {
			assert_true(pt_evt_next(decoder, (struct pt_event *)user, size) >= 0);
			for (size_t i = 0; i < sizeof(user); ++i)
				assert_int_equal(user[i], i >= size           ? 0xee
				                          : i < sizeof(whole) ? ((uint8_t *)&whole)[i]
				                                              : 0);
		}
		pt_evt_free_decoder(decoder);
	}
}

static void synchronising(void **state)
{
	struct pt_event_decoder *decoder;
	struct pt_event event;
	struct stream stream;
	struct pt_config config;
	uint64_t offset = 77;

	(void)state;
	stream_clear(&stream);
	stream_write(&stream, "tnt:1 psb psbend tnt:1 psb psbend tnt:0 psb psbend");
	config = stream_config(&stream);
	decoder = pt_evt_alloc_decoder(&config);
	assert_ptr_not_equal(pt_evt_get_config(decoder), NULL);
	assert_ptr_equal(pt_evt_get_config(decoder)->begin, config.begin);
	assert_int_equal(pt_evt_get_offset(decoder, &offset), -pte_nosync);
	assert_int_equal(pt_evt_get_sync_offset(decoder, &offset), -pte_nosync);
	assert_int_equal(pt_evt_next(decoder, &event, sizeof(event)), -pte_nosync);

	assert_int_equal(pt_evt_sync_forward(decoder), 0);
	assert_int_equal(pt_evt_get_sync_offset(decoder, &offset), 0);
	assert_int_equal(offset, 1);
	assert_int_equal(pt_evt_get_offset(decoder, &offset), 0);
	assert_int_equal(offset, 19);
	assert_int_equal(pt_evt_sync_forward(decoder), 0);
	assert_int_equal(pt_evt_get_sync_offset(decoder, &offset), 0);
	assert_int_equal(offset, 20);
	assert_int_equal(pt_evt_sync_backward(decoder), 0);
	assert_int_equal(pt_evt_get_sync_offset(decoder, &offset), 0);
	assert_int_equal(offset, 1);
	assert_int_equal(pt_evt_sync_backward(decoder), -pte_eos);

	assert_int_equal(pt_evt_sync_set(decoder, 20), 0);
	assert_int_equal(pt_evt_next(decoder, &event, sizeof(event)), 0);
	assert_int_equal(event.variant.tnt.bits, 0);
	assert_int_equal(pt_evt_sync_set(decoder, 0), -pte_nosync);
	assert_int_equal(pt_evt_sync_set(decoder, 22), -pte_bad_packet);
	assert_int_equal(pt_evt_sync_set(decoder, stream.size), -pte_eos);
	assert_int_equal(pt_evt_sync_set(decoder, UINT64_MAX), -pte_eos);
	pt_evt_free_decoder(decoder);
}

/* A query decoder reads over PSBs that bring nothing. Going back over a row of them reads each once or twice:
 * with half of all behind each of them, this test would take minutes. */
static void going_back_over_many_psbs_takes_no_time(void **state)
{
	static const uint8_t psb[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	enum { segments = 200000, segment_size = sizeof(psb) + 2 };
	uint8_t *trace = calloc(segments, segment_size);
	struct pt_query_decoder *query;
	struct pt_config config;
	uint64_t offset, ip;

	(void)state;
	assert_non_null(trace);
	for (size_t i = 0; i < segments; ++i) {
		memcpy(trace + i * segment_size, psb, sizeof(psb));
		memcpy(trace + i * segment_size + sizeof(psb), "\x02\x23", 2);
	}
	trace[segment_size] = 0x06; /* TNT: one bit; and not another PSB */
	pt_config_init(&config);
	config.begin = trace;
	config.end = trace + (size_t)segments * segment_size;
	memset(trace + segment_size + 1, 0, segment_size - 1);
	query = pt_qry_alloc_decoder(&config);
	assert_non_null(query);
	assert_int_equal(pt_qry_sync_backward(query, &ip), pts_ip_suppressed);
	assert_int_equal(pt_qry_get_sync_offset(query, &offset), 0);
	assert_int_equal(pt_qry_get_offset(query, &offset), 0);
	assert_int_equal(offset, segment_size);
	assert_int_equal(pt_qry_sync_backward(query, &ip), -pte_eos);
	pt_qry_free_decoder(query);
	free(trace);
}

static void arguments_are_checked(void **state)
{
	struct pt_event_decoder *decoder;
	struct pt_query_decoder *query;
	struct stream stream;
	struct pt_config config;
	struct pt_event event;
	uint64_t number;
	int taken;

	(void)state;
	stream_clear(&stream);
	config = stream_config(&stream);
	decoder = pt_evt_alloc_decoder(&config);
	query = pt_qry_alloc_decoder(&config);
	assert_null(pt_evt_alloc_decoder(NULL));
	assert_null(pt_qry_alloc_decoder(NULL));
	assert_null(pt_evt_get_config(NULL));
	assert_null(pt_qry_get_config(NULL));
	assert_ptr_equal(pt_qry_get_config(query)->begin, config.begin);
	assert_int_equal(pt_evt_sync_forward(NULL), -pte_invalid);
	assert_int_equal(pt_evt_sync_backward(NULL), -pte_invalid);
	assert_int_equal(pt_evt_sync_set(NULL, 0), -pte_invalid);
	assert_int_equal(pt_evt_get_offset(NULL, &number), -pte_invalid);
	assert_int_equal(pt_evt_get_offset(decoder, NULL), -pte_invalid);
	assert_int_equal(pt_evt_get_sync_offset(NULL, &number), -pte_invalid);
	assert_int_equal(pt_evt_get_sync_offset(decoder, NULL), -pte_invalid);
	assert_int_equal(pt_evt_next(NULL, &event, sizeof(event)), -pte_invalid);
	assert_int_equal(pt_evt_next(decoder, NULL, sizeof(event)), -pte_invalid);
	assert_int_equal(pt_evt_sync_forward(decoder), -pte_eos);
	assert_int_equal(pt_evt_sync_set(decoder, 0), -pte_eos);

	assert_int_equal(pt_qry_sync_forward(NULL, NULL), -pte_invalid);
	assert_int_equal(pt_qry_sync_backward(NULL, NULL), -pte_invalid);
	assert_int_equal(pt_qry_sync_set(NULL, NULL, 0), -pte_invalid);
	assert_int_equal(pt_qry_get_offset(NULL, &number), -pte_invalid);
	assert_int_equal(pt_qry_get_offset(query, NULL), -pte_invalid);
	assert_int_equal(pt_qry_get_sync_offset(NULL, &number), -pte_invalid);
	assert_int_equal(pt_qry_get_sync_offset(query, NULL), -pte_invalid);
	assert_int_equal(pt_qry_cond_branch(NULL, &taken), -pte_invalid);
	assert_int_equal(pt_qry_cond_branch(query, NULL), -pte_invalid);
	assert_int_equal(pt_qry_cond_branch(query, &taken), -pte_nosync);
	assert_int_equal(pt_qry_indirect_branch(NULL, &number), -pte_invalid);
	assert_int_equal(pt_qry_indirect_branch(query, NULL), -pte_invalid);
	assert_int_equal(pt_qry_indirect_branch(query, &number), -pte_nosync);
	assert_int_equal(pt_qry_event(NULL, &event, sizeof(event)), -pte_invalid);
	assert_int_equal(pt_qry_event(query, NULL, sizeof(event)), -pte_invalid);
	assert_int_equal(pt_qry_event(query, &event, 39), -pte_invalid);
	assert_int_equal(pt_qry_event(query, &event, sizeof(event)), -pte_nosync);
	assert_int_equal(pt_qry_time(NULL, &number, NULL, NULL), -pte_invalid);
	assert_int_equal(pt_qry_time(query, NULL, NULL, NULL), -pte_invalid);
	assert_int_equal(pt_qry_time(query, &number, NULL, NULL), -pte_no_time);
	assert_int_equal(pt_qry_core_bus_ratio(NULL, (uint32_t *)&taken), -pte_invalid);
	assert_int_equal(pt_qry_core_bus_ratio(query, NULL), -pte_invalid);
	assert_int_equal(pt_qry_core_bus_ratio(query, (uint32_t *)&taken), -pte_no_cbr);
	assert_int_equal(pt_qry_sync_forward(query, NULL), -pte_eos);
	pt_evt_free_decoder(decoder);
	pt_evt_free_decoder(NULL);
	pt_qry_free_decoder(query);
	pt_qry_free_decoder(NULL);
}

/* Where the query decoder differs from 2.0.5 on purpose. */
static void queries(void **state)
{
	static const struct event_case cases[] = {
	        {"psb psbend cfe:1,e,1 fup:1000 tip:2000",
	         "interrupt e00,0,1000; async_branch 1000,2000; eos"},
	        {"psb psbend evd:0,44 cfe:1,e", "interrupt - e01,44; eos"},
	        {"psb fup:1000 exec:64,1 psbend exec:64 fup:~1100",
	         "exec_mode status 3,1000; iflags status 1,1000; exec_mode 3,1100; iflags 0,1100; eos"},
	        {"psb psbend exec:64 pgd:2000", "disabled 2000; exec_mode - 3; iflags -; eos"},
	        {"psb psbend tsc:77 exstop:0 mwait:1,2 fup:1000",
	         "exstop - @77; mwait 1000,200000001 @77; eos"},
	        {"psb psbend ovf psb exec:64 psbend fup:1000",
	         "exec_mode status - 3; iflags status -; overflow 1000; eos"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
		struct pt_query_decoder *decoder;
		struct stream stream;
		struct pt_config config;
		struct text text = {.size = 0};
		struct pt_event event;
		int status;

		stream_clear(&stream);
		stream_write(&stream, cases[i].packets);
		config = stream_config(&stream);
		config.flags.variant.query.enable_iflags_events = 1;
		decoder = pt_qry_alloc_decoder(&config);
		status = pt_qry_sync_forward(decoder, NULL);
		while (status >= 0) {
			status = pt_qry_event(decoder, &event, sizeof(event));
			if (status >= 0)
				append_event(&text, &event);
		}
		append(&text, error_name(status));
		assert_string_equal(text.events, cases[i].events);
		pt_qry_free_decoder(decoder);
	}
}

/* What the config's callback takes is no event. */
static int take_one_byte(struct pt_packet_unknown *unknown, const struct pt_config *config,
                         const uint8_t *pos, void *context)
{
	(void)unknown;
	(void)config;
	(void)pos;
	(void)context;
	return 1;
}

static void packets_that_the_user_knows_are_skipped(void **state)
{
	struct stream stream;
	struct pt_config config;
	struct text text;

	(void)state;
	stream_clear(&stream);
	stream_write(&stream,
	             "psb raw:d9 psbend raw:d9 ovf raw:d9 fup:1000 raw:d9 tnt:1 raw:d9 fup:~2000 raw:d9 "
	             "tip:~3000");
	config = stream_config(&stream);
	config.decode.callback = take_one_byte;
	read_events(&text, &config);
	assert_string_equal(text.events, "overflow 1000; tnt 1,1; async_branch 2000,3000; eos");
}

/* IP compression, as each code of IPBytes has it; the last IP is 0xffff_8000_1234_5678 at first. */
static void addresses_are_uncompressed(void **state)
{
	static const struct event_case cases[] = {
	        {"psb psbend raw:6d785634120080 raw:2d0100 raw:4d02000100 raw:8d030002000300 "
	         "raw:cd0400000000000123 raw:8d010000000000",
	         "tip ffff800012345678; tip ffff800012340001; tip ffff800000010002; tip ffff000300020003; "
	         "tip 2301000000000004; tip 2301000000000001; eos"},
	};

	(void)state;
	CHECK(cases, 0);
}

/* Our packet reader does not know TRIG, whose format is not published; what it would bring is here. */
static void triggers(void **state)
{
	const struct pt_packet trig = {
	        .type = ppt_trig, .payload.trig = {.trbv = 5, .icnt = 77, .ip = 0, .icntv = 1, .mult = 1}};
	struct pt_packet bound = trig;
	struct stream stream;
	struct pt_config config;
	struct pt_evd *evd = calloc(1, sizeof(*evd));

	(void)state;
	assert_non_null(evd);
	stream_clear(&stream);
	stream_write(&stream, "fup:1000");
	config = stream_config(&stream);
	pt_evd_init(evd, &config, 0);
	assert_int_equal(pt_evd_on_trig(evd, &trig), 0);
	assert_int_equal(pt_evd_event(evd)->type, ptev_trig);
	assert_int_equal(pt_evd_event(evd)->ip_suppressed, 1);
	assert_int_equal(pt_evd_event(evd)->variant.trig.trbv, 5);
	assert_int_equal(pt_evd_event(evd)->variant.trig.icnt, 77);
	assert_int_equal(pt_evd_event(evd)->variant.trig.mult, 1);
	pt_evd_pop(evd);

	bound.payload.trig.ip = 1;
	bound.payload.trig.icntv = 0;
	assert_int_equal(pt_evd_on_trig(evd, &bound), 0);
	assert_int_equal(pt_evd_fetch(evd), pt_unit_event);
	assert_int_equal(pt_evd_event(evd)->variant.trig.ip, 0x1000);
	assert_int_equal(pt_evd_event(evd)->variant.trig.icnt, 0);
	for (int i = 0; i < pt_evd_bound_size; ++i)
		assert_int_equal(pt_evd_on_trig(evd, &bound), 0);
	assert_int_equal(pt_evd_on_trig(evd, &bound), -pte_nomem);
	free(evd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(packets_become_events),
	        cmocka_unit_test(psb_plus_tells_the_state),
	        cmocka_unit_test(overflows_resolve),
	        cmocka_unit_test(packets_out_of_place),
	        cmocka_unit_test(event_trace),
	        cmocka_unit_test(the_interrupt_flag),
	        cmocka_unit_test(events_have_their_packets_time),
	        cmocka_unit_test(calibration_may_outlive_an_overflow),
	        cmocka_unit_test(status_bits),
	        cmocka_unit_test(events_for_callers_of_any_version),
	        cmocka_unit_test(synchronising),
	        cmocka_unit_test(going_back_over_many_psbs_takes_no_time),
	        cmocka_unit_test(arguments_are_checked),
	        cmocka_unit_test(queries),
	        cmocka_unit_test(packets_that_the_user_knows_are_skipped),
	        cmocka_unit_test(addresses_are_uncompressed),
	        cmocka_unit_test(triggers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
