#!/bin/sh
# The manual pages: mandoc(1) has nothing to say about them, they know every option, function, struct and
# enumerator there is, as the headers have it; references lead somewhere; examples compile, run, and print
# what they are said to print.
set -u

command -v mandoc >/dev/null || exit 77
failures=0
complain() {
	echo "$@"
	failures=$((failures + 1))
}

man=$SOURCE_DIR/man
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# ---- The form -----------------------------------------------------------------------------------------------

for page in "$man"/*.[1-8]; do
	# Which other manuals are found depends on what is installed here.
	complaints=$(mandoc -T lint -W style "$page" 2>&1 | grep -Ev 'referenced manual not found|outdated mandoc.db')
	[ -z "$complaints" ] || complain "$complaints"
done

# ---- Names and references -----------------------------------------------------------------------------------

# name section page, for each name of each page
for page in "$man"/*.[1-8]; do
	awk -v page="${page##*/}" '/^\.Nd/ { exit } $1 == ".Nm" { print $2, substr(page, length(page)), page }' "$page"
done >"$dir/names"

sort "$dir/names" | cut -d' ' -f1,2 | uniq -d | grep . && complain "named by two pages"

# Ours are those that begin like ours.
for page in "$man"/*.[1-8]; do
	awk -v page="${page##*/}" '$1 == ".Xr" && $2 ~ /^(pt_|libipt|sbtrace|read_memory)/ { print $2, $3, page }' "$page"
done | sort -u | while read -r name section page; do
	grep -q "^$name $section " "$dir/names" || echo "$page refers to $name($section), which is not there"
done >"$dir/broken"
[ ! -s "$dir/broken" ] || complain "$(cat "$dir/broken")"

# man(1) finds each of them once it is installed.
DESTDIR=$dir/root cmake --install "$BUILD_DIR/man" >"$dir/log" 2>&1 || complain "$(cat "$dir/log")"
installed=$(find "$dir/root" -type d -path '*/man/man3')
while read -r name section page; do
	file=${installed%/man3}/man$section/$name.$section
	[ "$name.$section" = "$page" ] || [ "$(cat "$file")" = ".so man$section/$page" ] || complain "no $file"
	[ -f "${file%/*}/$page" ] || complain "not installed: $page"
done <"$dir/names"

# ---- Options ------------------------------------------------------------------------------------------------

for command in replay record events dump bundle diff job; do
	page=$man/sbtrace-$command.1
	[ -f "$page" ] || { complain "no manual page for $command"; continue; }
	text=$(mandoc -T ascii "$page" | sed "s/.$(printf "\b")//g") # without overstriking
	for option in $("$SBTRACE" "$command" --help | grep -oE -- '^ +(-., )? *--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
		echo "$text" | grep -q -- "$option" || complain "$page does not know $option"
	done
done

# ---- Keys of a job ------------------------------------------------------------------------------------------

# The page tells of each key that the schema has, and of no other.
if command -v jq >/dev/null; then
	"$SBTRACE" job schema |
		jq -r 'del(.. | .then?) | [.. | .properties? // empty | keys[]] | unique[]' | sort >"$dir/keys"
	grep -oE '\<Cm [a-z_]+ :' "$man/sbtrace-job.5" | cut -d' ' -f2 | sort -u >"$dir/told"
	comm -3 "$dir/keys" "$dir/told" >"$dir/untold"
	[ "$(wc -l <"$dir/keys")" -ge 40 ] || complain "too few keys found"
	[ ! -s "$dir/untold" ] || complain "keys of a job; only in the schema, or only in the page: $(cat "$dir/untold")"
fi

# ---- The sideband -------------------------------------------------------------------------------------------

sideband=$man/sbtrace-sideband.7
for name in $(grep -oE '^	sb_gap_[a-z_]+' "$SOURCE_DIR/libsb/include/sb/replay.h" | tr -d '\t' | grep -vE '_(none|reasons)$'); do
	grep -q "^\.It Cm .* Dv $name$" "$sideband" || complain "${sideband##*/} does not tell of $name"
done
for name in $(grep -ohE '\{"[A-Z0-9_]+"' "$SOURCE_DIR"/libsb/record/*_records.c | tr -d '{"'); do
	grep -qE "^\.It .*\<$name\>" "$sideband" || complain "${sideband##*/} does not tell of $name"
done

# ---- The decoder's interface --------------------------------------------------------------------------------

include=$SOURCE_DIR/libdecode/include
# One line without superfluous blanks, so that the layout of the source does not count.
squeeze() {
	tr -s '[:space:]' ' ' | sed 's/ *\([^a-zA-Z0-9_]\) */\1/g'
}
# libsb's are only compared with what pages say of them.
{
	for header in "$include"/*.h; do echo "#include <${header##*/}>"; done
	for header in "$SOURCE_DIR"/libsb/include/sb/*.h; do echo "#include <sb/${header##*/}>"; done
} | "$CC" -I "$include" -I "$SOURCE_DIR/libsb/include" -E -P -x c - >"$dir/header.i" || complain "cannot read the headers"
squeeze <"$dir/header.i" >"$dir/header"

grep -ohE '^(extern pt_export|static inline) [^(]*\(' "$include"/*.h | grep -oE 'pt_[a-z_]+\(' | tr -d '(' |
	sort -u >"$dir/functions"
[ "$(wc -l <"$dir/functions")" -ge 90 ] || complain "too few functions found in the headers"
nm -D --defined-only "$BUILD_DIR/libdecode/libipt.so" | awk '$2 == "T" && $3 ~ /^pt_/ { print $3 }' >"$dir/exports"
[ "$(wc -l <"$dir/exports")" -ge 60 ] || complain "too few exports found in libipt.so"
grep -ohE '^(struct|enum) pt_[a-z_]+ ?[{;]' "$include"/*.h | grep -oE 'pt_[a-z_]+' | sort -u >"$dir/types"

sort -u "$dir/functions" "$dir/exports" "$dir/types" | while read -r name; do
	page=$(awk -v name="$name" '$1 == name && $2 == 3 { print $3 }' "$dir/names")
	[ -n "$page" ] || { echo "no manual page for $name"; continue; }
	grep -qx "$name" "$dir/types" || grep -qE "^\.F[no] $name( |\$)" "$man/$page" ||
		echo "$page does not have the prototype of $name"
done >"$dir/missing"
[ ! -s "$dir/missing" ] || complain "$(cat "$dir/missing")"

awk '$2 == 3 { print $1 }' "$dir/names" | while read -r name; do
	grep -qw "$name" "$dir/header.i" || echo "$name is named, but there is none"
done >"$dir/stale"
[ ! -s "$dir/stale" ] || complain "$(cat "$dir/stale")"

# What pages show of the headers is there, to the letter.
for page in "$man"/*.3; do
	{
		awk -v what=prototypes -f "$SOURCE_DIR/tests/tools/man_code.awk" "$page"
		awk -v what=structs -f "$SOURCE_DIR/tests/tools/man_code.awk" "$page" | squeeze |
			sed 's/};struct/};\nstruct/g'
		echo
	} | while read -r line; do
		declaration=$(echo "$line" | squeeze)
		echo "$declaration" >>"$dir/shown"
		grep -qF -- "$declaration" "$dir/header" || echo "${page##*/}: not what the header says: $line"
	done
done >"$dir/wrong"
[ ! -s "$dir/wrong" ] || complain "$(cat "$dir/wrong")"

# An event's struct is told in words: it is long, and each event has its own part.
grep -ohE '^struct pt_[a-z_]+ \{' "$include"/*.h | grep -v 'pt_event ' | while read -r line; do
	grep -qF -- "$(echo "$line" | squeeze)" "$dir/shown" || echo "no page shows $line"
done >"$dir/hidden"
[ ! -s "$dir/hidden" ] || complain "$(cat "$dir/hidden")"

for enumerator in $(grep -oE '\b(pte|ptev|ppt|ptic|pts|ptr|ptrf|ptem|ptds|pcv|pt_ipc|pt_cfe|pt_evd|pt_mol)_[a-z0-9_]+\b' \
	"$dir/header.i" | sort -u); do
	case $enumerator in
	pt_cfe_type | pt_evd_type) continue ;;
	esac
	grep -qwF -- "$enumerator" "$man"/*.3 || complain "no page knows $enumerator"
done

# ---- Examples -----------------------------------------------------------------------------------------------

examples=$dir/examples
mkdir "$examples"
for page in "$man"/*.3 "$man"/*.7; do
	awk -v what=code -v dir="$examples" -f "$SOURCE_DIR/tests/tools/man_code.awk" "$page"
done
# None is passed over, as its first line is another.
for page in "$man"/*.3 "$man"/*.7; do
	awk '/^\.Bd -literal/ { first = NR + 1 } NR == first && /^#include/ { print FILENAME ": nobody compiles the example in line " NR }' "$page"
done >"$dir/unnamed"
[ ! -s "$dir/unnamed" ] || complain "$(cat "$dir/unnamed")"
sanitize=
[ -z "${SANITIZE:-}" ] || sanitize="-fsanitize=$SANITIZE"
libipt="$BUILD_DIR/libdecode/libipt.a -lZydis -lpthread"
libsb="-L$BUILD_DIR/libsb -L$BUILD_DIR/libdecode -Wl,-rpath,$BUILD_DIR/libsb:$BUILD_DIR/libdecode -lsb -lipt"
programs=0
for source in "$examples"/*.c; do
	programs=$((programs + 1))
	object=${source%.c}.o
	# shellcheck disable=SC2086 # words
	"$CC" -std=c17 -Wall -Wextra -Werror $sanitize -I "$include" -I "$SOURCE_DIR/libsb/include" \
		-c "$source" -o "$object" 2>"$dir/log" ||
		complain "${source##*/} does not compile: $(cat "$dir/log")"
	grep -q '^int main(' "$source" || continue
	library=$libipt
	! grep -q '^#include <sb/' "$source" || library=$libsb
	# shellcheck disable=SC2086
	"$CC" $sanitize "$object" -o "${source%.c}" $library 2>"$dir/log" || complain "${source##*/} does not link: $(cat "$dir/log")"
done
[ "$programs" -ge 20 ] || complain "too few examples found"

cd "$examples" || exit 1
grep '^\$ ' session | cut -c3- | while read -r command; do
	printf '%s\n' "\$ $command"
	sh -c "$command" 2>&1
done >printed
diff -u session printed || complain "examples print something else"

[ $failures -eq 0 ]
