#!/bin/sh
# A client that knows nothing of us: Debian's gdb, made for libipt.so.2, shows a recorded trace. Its instruction
# history is the truth, address by address; all it says is what it says with Debian's own library.
set -u

[ -z "${SANITIZE:-}" ] || { echo "skipped: gdb cannot load a library with sanitizers"; exit 77; }
command -v gdb >/dev/null || { echo "skipped: no gdb here"; exit 77; }
LC_ALL=C gdb --configuration | grep -q -- '--with-intel-pt' || { echo "skipped: gdb has no Intel PT"; exit 77; }
. "$SOURCE_DIR/tests/tools/recordings.sh"
program=$BUILD_DIR/tests/workloads/solo
theirs=/usr/lib/x86_64-linux-gnu
export HOME="$dir" DEBUGINFOD_URLS=

# run_gdb LIBRARY-DIRECTORY OUT: what gdb prints with the libipt.so.2 from there, in OUT.txt and OUT.err.
run_gdb()
{
	LD_LIBRARY_PATH=$1 gdb -nx -nh -q -batch -x "$dir/script" >"$dir/$2.txt" 2>"$dir/$2.err" </dev/null ||
		fail "$name: gdb, with $2: exit status $?"
	grep -q "^$(realpath "$1")/libipt\.so" "$dir/$2.txt" || fail "$name: gdb did not load $1/libipt.so.2"
	sed -i '/\/libipt\.so/d' "$dir/$2.txt"
	# how far a library reads ahead is its own business
	sed -i 's/(offset = 0x[0-9a-f]*/(offset = .../' "$dir/$2.err"
}

# show NAME PROGRAM TRACE CPU PC: what gdb says about this trace, with our library and with Debian's; leaves the
# addresses in the instruction history in $dir/history. An arrow marks the one where the program stands. gdb asks
# again when nothing comes for so many seconds, and takes the first answer for the second's: a loaded machine has time.
show()
{
	name=$1
	cat >"$dir/script" <<-END
		set pagination off
		set confirm off
		set width 0
		set record instruction-history-size unlimited
		set record function-call-history-size unlimited
		set remotetimeout 600
		file $2
		target remote | $BUILD_DIR/tests/gdb_stub $2 $3 $4 $5
		shell grep -o '/.*/libipt[.]so.*' /proc/\$PPID/maps | sort -u
		record btrace pt
		info record
		record function-call-history /ilc
		reverse-stepi
		reverse-stepi
		reverse-stepi
		stepi
		info record
		x/i \$pc
		record goto begin
		stepi
		x/i \$pc
		echo history:\n
		record instruction-history 1,99999999
	END
	run_gdb "$BUILD_DIR/libdecode" ours
	sed -nE '1,/^history:/d; s/^[0-9]+\t(=>|  ) 0x0*([0-9a-f]+)[ :].*/\2/p' "$dir/ours.txt" >"$dir/history"
	echo "$name: $(wc -l <"$dir/history") instructions in gdb's history," \
		"$(sed '1,/^history:/d' "$dir/ours.txt" | grep -c '^[0-9]*	\[') gaps"
	moves
	[ -e $theirs/libipt.so.2 ] || return
	run_gdb $theirs theirs
	for kind in txt err; do
		cmp -s "$dir/ours.$kind" "$dir/theirs.$kind" || {
			fail "$name: with Debian's library gdb says something else"
			diff "$dir/theirs.$kind" "$dir/ours.$kind" | head -n 6
		}
	done
}

# The first step back enters the replay, at the last instruction; two more and one forward end at the one before
# it. A step from the beginning ends at the second.
moves()
{
	{ tail -n 2 "$dir/history" | head -n 1; sed -n 2p "$dir/history"; } >"$dir/expected"
	sed -nE 's/^=> 0x0*([0-9a-f]+)[ :].*/\1/p' "$dir/ours.txt" >"$dir/moves"
	cmp -s "$dir/expected" "$dir/moves" || fail "$name: steps end at $(tr '\n' ' ' <"$dir/moves")," \
		"not at $(tr '\n' ' ' <"$dir/expected")"
}

# check NAME OPTIONS...: of a software recording with these options, gdb shows the truth.
check()
{
	record "$@" -- "$program" || return
	cpu=$("$BUILD_DIR/tests/pt_bytes" "$dir/$1.data" 0 "$dir/$1.pt" | cut -d ' ' -f 1)
	cut -f 5 "$dir/$1.truth" >"$dir/truth"
	show "$1" "$program" "$dir/$1.pt" "$cpu" "$(tail -n 1 "$dir/truth")"
	cmp -s "$dir/history" "$dir/truth" || {
		fail "$name: not the truth: $(wc -l <"$dir/truth") lines, $(wc -l <"$dir/history") in the history"
		diff "$dir/truth" "$dir/history" | head -n 6
		head -n 20 "$dir/ours.err"
	}
	! grep -qx "$main" "$dir/truth" || grep -q 'main.inst ' "$dir/ours.txt" ||
		fail "$name: main is not in the function call history"
}

main=$(nm "$program" | sed -n 's/^0*\([0-9a-f]*\) T main$/\1/p')
check timed --mtc --cyc
check uncompressed --no-retcomp --psb-period 256
check long --tnt64
check overflow --overflow-every 1000
# Most of these end in one; in some, main is lost.
check end1 --overflow-every 16 --seed 1
check end2 --overflow-every 16 --seed 2

# One of real hardware, where there is one; of its truth, the checksum is known.
hardware=$CORPUS_DIR/hw-unzip
if [ -d "$hardware" ]; then
	objcopy -I binary -O elf64-x86-64 --rename-section .data=.text,alloc,load,readonly,code,contents \
		"$hardware/mem/0000000000400000.bin" "$dir/unzip.o" || exit 1
	ld -Ttext=0x400000 -e 0x400000 -z noexecstack -o "$dir/unzip" "$dir/unzip.o" || exit 1
	show hardware "$dir/unzip" "$hardware/trace.pt" 6/94/3 0
	sum=$(sha256sum <"$dir/history" | cut -d ' ' -f 1)
	grep -q "^$sum " "$hardware/ips.sha256" || fail "hardware: not the truth"
fi
[ $failures -eq 0 ]
