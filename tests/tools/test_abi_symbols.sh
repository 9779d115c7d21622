#!/bin/sh
# What libipt.so.2 exports: the functions that the headers declare, all of them and nothing else, without
# versions; libipt.map lists the same; nothing that Debian's libipt.so.2 has is missing.
set -u

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
library=$BUILD_DIR/libdecode/libipt.so.2
headers=$SOURCE_DIR/libdecode/include
theirs=/usr/lib/x86_64-linux-gnu/libipt.so.2
failures=0

# none WHAT FILE: complains about every line of the file.
none()
{
	[ ! -s "$2" ] || { echo "FAILED: $1:" $(cat "$2"); failures=$((failures + 1)); }
}

nm -D --defined-only "$library" >"$dir/nm" || exit 1
awk '{ print $NF }' "$dir/nm" | sort >"$dir/ours"
grep '@' "$dir/ours" >"$dir/versioned"
none 'symbols with a version' "$dir/versioned"
awk '$2 != "T"' "$dir/nm" >"$dir/data"
none 'exported, and no function' "$dir/data"

sed -n 's/^\t\(pt_[a-z0-9_]*\);$/\1/p' "$SOURCE_DIR/libdecode/libipt.map" | sort >"$dir/map"
for header in "$headers"/*.h; do
	printf '#include <%s>\n' "${header##*/}" | ${CC:-cc} -E -P -I "$headers" - | tr '\n' ' ' |
		grep -oE 'extern __attribute__\(\(visibility\("default"\)\)\)[^;]*;' |
		sed -E 's/.*[ *](pt_[a-z0-9_]+)\([^)]*\);$/\1/'
done | sort -u >"$dir/declared"

comm -23 "$dir/declared" "$dir/map" >"$dir/difference"
none 'declared, but not in libipt.map' "$dir/difference"
comm -13 "$dir/declared" "$dir/map" >"$dir/difference"
none 'in libipt.map, but not declared' "$dir/difference"
comm -23 "$dir/ours" "$dir/map" >"$dir/difference"
none 'exported, but not in libipt.map' "$dir/difference"
comm -13 "$dir/ours" "$dir/map" >"$dir/difference"
none 'in libipt.map, but not exported' "$dir/difference"

of_libipt=$(sed '/not in libipt/,$d' "$SOURCE_DIR/libdecode/libipt.map" | grep -c '^	pt_')
[ "$of_libipt" -eq 87 ] || { echo "FAILED: libipt 2.3 has 87 functions, libipt.map $of_libipt"; failures=$((failures + 1)); }

if [ -e $theirs ]; then
	nm -D --defined-only $theirs | awk '{ print $NF }' | sort >"$dir/theirs"
	comm -13 "$dir/ours" "$dir/theirs" >"$dir/difference"
	none "exported by Debian's libipt, not by ours" "$dir/difference"
fi
[ $failures -eq 0 ]
