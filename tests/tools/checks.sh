# checks.sh - what every test of the tools begins with: a folder $dir, which goes with the test, fail(), which says what
# went wrong and counts it in $failures, and spoil(). Sourced, not run.

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0

fail()
{
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# spoil FILE OFFSET: the byte there becomes another one.
spoil()
{
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf "\\$(printf %o $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
