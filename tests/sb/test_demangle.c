/* test_demangle.c - names of C++ and Rust. The readable forms are those of the Itanium C++ ABI's examples, of
 * Rust's RFC 2603 ("Rust Symbol Mangling (v0)"), and of rustc itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sb/symbols.h>

static void known_names(void **state)
{
	static const char *const known[][2] = {
	        {"_Z1fv", "f()"},
	        {"_ZN3foo3barEi", "foo::bar(int)"},
	        {"_ZNSt6vectorIiSaIiEE9push_backERKi",
	         "std::vector<int, std::allocator<int> >::push_back(int const&)"},
	        {"_Znwm", "operator new(unsigned long)"},
	        {"_ZN1AD1Ev", "A::~A()"},
	        {"_ZTV1A", "vtable for A"},
	        {"_Z3fooIJiEEvDpT_", "void foo<int>(int)"},
	        {"_ZL6hiddenv.constprop.0", "hidden() [clone .constprop.0]"},
	        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
	        {"_RNvC6_123foo3bar", "123foo::bar"},
	        {"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
	         "<std::path::PathBuf>::new"},
	        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
	        {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
	         "<Test + 'static as foo::Bar<Test>>::bar"},
	};
	char readable[256];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
		const size_t length = sb_demangle(known[i][0], readable, sizeof(readable));

		assert_int_equal(length, strlen(known[i][1]));
		assert_string_equal(readable, known[i][1]);
	}
}

static void what_is_not_mangled_is_left_alone(void **state)
{
	static const char *const plain[] = {
	        "main",          "",     "_",         "_Z", "_R", "_ZN", "__libc_start_main", "_start",
	        "do_syscall_64", "_Zzz", "_ZN3fooEE",
	};
	char readable[64];

	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); ++i)
		assert_int_equal(sb_demangle(plain[i], readable, sizeof(readable)), 0);
	assert_int_equal(sb_demangle(NULL, readable, sizeof(readable)), 0);
	assert_int_equal(sb_demangle("_Z1fv", NULL, 0), 0);
}

static void what_does_not_fit_is_left_alone(void **state)
{
	char readable[4];

	(void)state;
	assert_int_equal(sb_demangle("_Z1fv", readable, 4), 3);
	assert_int_equal(sb_demangle("_Z1fv", readable, 3), 0);
	assert_int_equal(sb_demangle("_ZN3foo3barEi", readable, 4), 0);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* "S_", "S0_", ...: the substitution of that number. */
static void put_substitution(char *name, unsigned int number)
{
	static const char digit[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char text[8] = "S_";

	if (number > 36)
		snprintf(text, sizeof(text), "S%c%c_", digit[(number - 1) / 36], digit[(number - 1) % 36]);
	else if (number)
		snprintf(text, sizeof(text), "S%c_", digit[number - 1]);
	strcat(name, text);
}

/* P<A, A>, P<P<A, A>, P<A, A>>, ...: twice as long with each step of a few letters. */
static void growing_cplus(char *name, const char *begin, unsigned int steps)
{
	strcpy(name, begin);
	strcat(name, "1A1PIS_S_E");
	for (unsigned int i = 0; i < steps; ++i) {
		put_substitution(name, 1);
		strcat(name, "I");
		put_substitution(name, 2 + i);
		put_substitution(name, 2 + i);
		strcat(name, "E");
	}
}

static void growing_rust(char *name, unsigned int steps)
{
	static const char digit[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t last;

	strcpy(name, "_RINvC1a1fTuuE"); /* a::f::<((), ())> */
	last = strlen("INvC1a1f");
	for (unsigned int i = 0; i < steps; ++i) {
		char tuple[24], back[8];
		const size_t at = strlen(name) - 2;

		if (last > 62)
			snprintf(back, sizeof(back), "B%c%c_", digit[(last - 1) / 62],
			         digit[(last - 1) % 62]);
		else
			snprintf(back, sizeof(back), "B%c_", digit[last - 1]);
		snprintf(tuple, sizeof(tuple), "T%s%sE", back, back);
		strcat(name, tuple);
		last = at;
	}
	strcat(name, "E");
}

/* Short names whose readable form would fill all memory, or take for ever, end quickly and are left alone. */
static void names_that_grow_without_end(void **state)
{
	static char name[1 << 16], readable[8192];
	const double begin = seconds();

	(void)state;
	growing_cplus(name, "_Z1f", 5);
	assert_true(sb_demangle(name, readable, sizeof(readable)) > 200);
	growing_cplus(name, "_Z1f", 30);
	assert_int_equal(sb_demangle(name, readable, sizeof(readable)), 0);
	growing_cplus(name, "_Z1fIJEEvDp", 30);
	assert_int_equal(sb_demangle(name, readable, sizeof(readable)), 0);
	growing_rust(name, 4);
	assert_true(sb_demangle(name, readable, sizeof(readable)) > 60);
	growing_rust(name, 60);
	assert_int_equal(sb_demangle(name, readable, sizeof(readable)), 0);
	assert_true(seconds() - begin < 5);
}

static void names_of_deep_nesting(void **state)
{
	static const char *const step[] = {"P", "N1a", "F",  "IS",  "TP", "Dp", "sZ",
	                                   "M", "1aI", "A_", "U1a", "XL", "L_Z"};
	static const char *const begin[] = {"_Z1f", "_ZN", "_ZL1f", "_RNv", "_RINv", "_RM", "_RY"};
	static char name[1 << 18], readable[8192];
	const double start = seconds();

	(void)state;
	for (size_t b = 0; b < sizeof(begin) / sizeof(begin[0]); ++b)
		for (size_t s = 0; s < sizeof(step) / sizeof(step[0]); ++s) {
			char *at = stpcpy(name, begin[b]);

			while (at + 8 < name + sizeof(name))
				at = stpcpy(at, step[s]);
			sb_demangle(name, readable, sizeof(readable));
			/* As deep as names that are looked at at all. */
			name[1000] = '\0';
			sb_demangle(name, readable, sizeof(readable));
		}
	assert_true(seconds() - start < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(known_names),
	        cmocka_unit_test(what_is_not_mangled_is_left_alone),
	        cmocka_unit_test(what_does_not_fit_is_left_alone),
	        cmocka_unit_test(names_that_grow_without_end),
	        cmocka_unit_test(names_of_deep_nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
