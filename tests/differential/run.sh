# run.sh generated|damaged|corpus|software: our decoder against Debian's libipt. By default some hundred cases;
# with SBTRACE_DIFF_COUNT=10000 that many generated, that many damaged generated, and damaged pieces of recordings.
set -u

count=${SBTRACE_DIFF_COUNT:-300}
failed=0

# diff OPTIONS...: ends the test when there is no libipt to compare with.
diff()
{
	"$PT_DIFF" --context 6 "$@" >"$dir/log" 2>&1
	case $? in
	0) grep -E "^(layer|crashes|known|truth)" "$dir/log" ;;
	77) cat "$dir/log"; echo "skipped: no libipt2"; exit 77 ;;
	*) echo "FAILED: pt_diff $*"; tail -c 30000 "$dir/log"; failed=1 ;;
	esac
}

# recording NAME OPTIONS...: as it is, and pieces of it with damage.
recording()
{
	echo "== $1"
	shift
	diff "$@"
	diff "$@" --mutate yes --seed 1 --count "$damaged"
}

settings="--cpu 6/85/4 --mtc-freq 3 --nom-freq 21 --cpuid 2:168"

software()
{
	damaged=$((count / 30))
	# shellcheck source=/dev/null
	. "$SOURCE_DIR/tests/tools/recordings.sh"
	shared=software
	i=0
	for options in "--mtc --cyc" "--tnt64" "--no-retcomp --psb-period 512" "--overflow-every 3000 --mtc" "--overflow-every 16 --psb-period 256" "-c 2"; do
		i=$((i + 1))
		# One with all that shared libraries execute, the others with little of it.
		[ $i = 1 ] && set -- sh -c 'ls / | sort | head -3; true' || set -- "$BUILD_DIR/tests/workloads/relay" 100 /bin/echo
		# shellcheck disable=SC2086 # options are words
		record "r$i" $options -- "$@" || failed=1
		# shellcheck disable=SC2086
		recording "recorded with $options" --perf "$dir/r$i.data:$dir/r$i.root:0" $settings
	done
}

# sideband DIRECTORY: options for its code
sideband()
{
	for file in "$1"/*.pevent; do
		echo "--sideband $file:$1/root"
	done
}

corpus()
{
	[ -d "$CORPUS_DIR" ] || { echo "skipped: no corpus"; exit 77; }
	names="user-true user-true-cyc user-true-noretcomp user-true-tnt64 user-threads-overflow"
	[ "$count" -le 300 ] || names="$names user-threads user-pipe user-medium kernel-pti kernel-kaslr-modules"
	damaged=$((count / 20))
	for name in $names; do
		for trace in "$CORPUS_DIR/$name"/cpu*.pt; do
			# shellcheck disable=SC2046,SC2086 # options are words
			recording "$name $(basename "$trace")" --pt "$trace" $settings $(sideband "$CORPUS_DIR/$name") \
				$(kernel "$name") $(code_of "$name")
		done
	done
	recording hw-hello --pt "$CORPUS_DIR/hw-hello/pt.bin" --image "$CORPUS_DIR/hw-hello/hello:0:0:0x400000" \
		--cpu 6/85/4 --mtc-freq 3 --nom-freq 37 --cpuid 2:308
	recording hw-unzip --pt "$CORPUS_DIR/hw-unzip/trace.pt" --cpu 6/94/3 \
		--image "$CORPUS_DIR/hw-unzip/mem/0000000000400000.bin:0:0:0x400000"
	[ "$count" -le 300 ] || mruby
}

# code_of NAME: kernel text that was patched, and several processes at the same addresses, do not fit one image
code_of()
{
	[ "$1" != kernel-kaslr-modules ] || echo "--wrong-code yes"
}

mruby()
{
	images=
	for file in "$CORPUS_DIR"/hw-mruby/mem/*.bin; do
		images="$images --image $file:0:0:0x$(basename "$file" .bin)"
	done
	# shellcheck disable=SC2086 # options are words
	recording hw-mruby --pt "$CORPUS_DIR/hw-mruby/trace.pt" --cpu 6/94/3 $images
}

# kernel NAME: options for the segments of its kcore
kernel()
{
	kcore=$(find "$CORPUS_DIR/$1/perf.data" -name kcore 2>/dev/null | head -1)
	[ -z "$kcore" ] || readelf -lW "$kcore" | awk -v file="$kcore" \
		'$1 == "LOAD" { print "--image " file ":" $2 ":" $5 ":" $3 }'
}

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

case $1 in
generated) diff --seed 1 --count "$count" ;;
damaged) diff --seed 1 --count "$count" --mutate yes ;;
software) software ;;
corpus) corpus ;;
esac
exit "$failed"
