#!/bin/sh
# A program that was compiled with Debian's header and linked with Debian's libipt.so.2 prints the same
# when it runs on ours, layer by layer.
set -u

theirs=/usr/lib/x86_64-linux-gnu
ours=$BUILD_DIR/libdecode
if ! { [ -e $theirs/libipt.so ] && grep -q 'LIBIPT_VERSION_MINOR 0' /usr/include/intel-pt.h; } 2>/dev/null; then
	echo "skipped: no libipt-dev 2.0 here"
	exit 77
fi
. "$SOURCE_DIR/tests/tools/recordings.sh"
program=$BUILD_DIR/tests/workloads/solo

sanitize=
[ -z "${SANITIZE:-}" ] || sanitize="-fsanitize=$SANITIZE"
# shellcheck disable=SC2086 # words
${CC:-cc} -D_GNU_SOURCE -Wall -Wextra -Werror -O1 $sanitize "$SOURCE_DIR/tests/tools/ipt_client.c" \
	-o "$dir/client" -L $theirs -lipt || exit 1
for library in "$ours" $theirs; do
	LD_LIBRARY_PATH=$library ldd "$dir/client" | grep -q "$library/libipt.so.2" ||
		{ fail "the client does not run on $library"; exit 1; }
done

check()
{
	record "$@" -- "$program" || return
	name=$1
	"$BUILD_DIR/tests/pt_bytes" "$dir/$name.data" 0 "$dir/$name.pt" | tr / ' ' >"$dir/how"
	for layer in packets encoder query insn insn-callback block block-cached; do
		for library in ours theirs; do
			eval "path=\$$library"
			# shellcheck disable=SC2046,SC2154 # words, set by eval
			LD_LIBRARY_PATH=$path "$dir/client" $layer "$program" "$dir/$name.pt" $(cat "$dir/how") \
				>"$dir/$library" 2>"$dir/$library.err" ||
				fail "$name: $layer on $library: exit status $?: $(head -n 5 "$dir/$library.err")"
		done
		[ -z "$without_time" ] || sed -i 's/^\(event.*\) @[0-9a-f]* [0-9]* [0-9]*/\1/' "$dir/ours" "$dir/theirs"
		cmp -s "$dir/ours" "$dir/theirs" || {
			fail "$name: $layer differs"
			diff "$dir/theirs" "$dir/ours" | head -n 6
		}
		echo "$name: $layer: $(wc -l <"$dir/ours") lines"
		[ $layer != insn ] || [ "$(grep -cE '^[0-9a-f]+ 3 ' "$dir/ours")" -eq "$(wc -l <"$dir/$name.truth")" ] ||
			fail "$name: not as many instructions as were executed"
	done
}

without_time=
check plain --mtc
check uncompressed --no-retcomp --psb-period 256
check long --tnt64
check overflow --overflow-every 1000
check end --overflow-every 16
# With CYC packets, ours is nearer to the truth: it does not let cycles run past the next MTC.
without_time=yes
check cycles --mtc --cyc
[ $failures -eq 0 ]
