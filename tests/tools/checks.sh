# checks.sh - what every test of the tools begins with: a folder $dir, which goes with the test, and fail(), which says
# what went wrong and counts it in $failures. Sourced, not run.

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0

fail()
{
	echo "FAILED: $*"
	failures=$((failures + 1))
}
