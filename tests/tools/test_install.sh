#!/bin/sh
# What is installed can be used: the tree has its files, and a program finds both libraries by pkg-config.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

DESTDIR="$dir/root" cmake --install "$BUILD_DIR" >"$dir/log" || { cat "$dir/log"; exit 1; }

pc=$(find "$dir/root" -name libsb.pc)
[ -n "$pc" ] || { echo "no libsb.pc"; exit 1; }
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$dir/root"
lib=${pc%/pkgconfig/*}
prefix=$(PKG_CONFIG_SYSROOT_DIR='' pkg-config --variable=prefix libsb)

for file in bin/sbtrace include/intel-pt.h include/intel-pt-run.h include/intel-pt-time.h include/sb/replay.h \
	share/man/man1/sbtrace.1 share/man/man1/sbtrace-replay.1 share/man/man1/sbtrace-dump.1 share/man/man5/sbtrace-job.5; do
	[ -f "$dir/root$prefix/$file" ] || { echo "not installed: $prefix/$file"; exit 1; }
done
for file in libipt.so libipt.so.2 libipt.a libsb.so libsb.so.0 libsb.a; do
	[ -e "$lib/$file" ] || { echo "not installed: $lib/$file"; exit 1; }
done

cat >"$dir/sb.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <sb/replay.h>

int main(void)
{
	struct sb_perfdata *perfdata;
	struct sb_error err;
	struct pt_version version = pt_library_version();

	if (version.major != 2 || strcmp(sb_gap_reason_name(sb_gap_overflow), "overflow"))
		return 1;
	return sb_perfdata_open(&perfdata, "/nonexistent", &err) < 0 ? 0 : 1;
}
END
cat >"$dir/ipt.c" <<'END'
#include <intel-pt.h>

int main(void)
{
	return pt_library_version().major == 2 ? 0 : 1;
}
END

sanitize=
[ -z "${SANITIZE:-}" ] || sanitize="-fsanitize=$SANITIZE"
for name in sb ipt; do
	# shellcheck disable=SC2046,SC2086 # words
	${CC:-cc} -Wall -Werror $sanitize "$dir/$name.c" -o "$dir/$name" \
		$(pkg-config --cflags --libs lib$name) -Wl,-rpath-link,"$lib"
	LD_LIBRARY_PATH=$lib "$dir/$name" || { echo "$name: wrong answers"; exit 1; }
done

# The decoder alone, linked statically.
# shellcheck disable=SC2046,SC2086
${CC:-cc} -Wall -Werror $sanitize $(pkg-config --cflags libipt) "$dir/ipt.c" "$lib/libipt.a" -lZydis -lpthread \
	-o "$dir/static"
"$dir/static"

# The executable finds its libraries in the installed tree, wherever that is.
"$dir/root$prefix/bin/sbtrace" --version >/dev/null
