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

# Which other manuals are found depends on what is installed here.
mandoc -T lint -W style "$man"/*.[1-8] >"$dir/lint" 2>"$dir/lint.err"
complaints=$(cat "$dir/lint" "$dir/lint.err" | grep -Ev 'referenced manual not found|outdated mandoc.db')
[ -z "$complaints" ] || complain "$complaints"

# ---- Names and references -----------------------------------------------------------------------------------

# name section page, for each name of each page
awk 'FNR == 1 { page = FILENAME; sub(/.*\//, "", page); head = 1 }
	/^\.Nd/ { head = 0 }
	head && $1 == ".Nm" { print $2, substr(page, length(page)), page }' "$man"/*.[1-8] >"$dir/names"

sort "$dir/names" | cut -d' ' -f1,2 | uniq -d | grep . && complain "named by two pages"

# Ours are those that begin like ours.
awk 'NR == FNR { known[$1, $2] = 1; next }
	$1 == ".Xr" && $2 ~ /^(pt_|libipt|sbtrace|read_memory)/ && !(($2, $3) in known) {
		print FILENAME " refers to " $2 "(" $3 "), which is not there"
	}' "$dir/names" "$man"/*.[1-8] | sort -u >"$dir/broken"
[ ! -s "$dir/broken" ] || complain "$(cat "$dir/broken")"

# man(1) finds each of them once it is installed.
DESTDIR=$dir/root cmake --install "$BUILD_DIR/man" >"$dir/log" 2>&1 || complain "$(cat "$dir/log")"
installed=$(find "$dir/root" -type d -path '*/man/man3')
while read -r name section page; do
	file=${installed%/man3}/man$section/$name.$section
	line="" more=""
	[ "$name.$section" = "$page" ] || { read -r line && ! read -r more && [ "$line$more" = ".so man$section/$page" ]; } <"$file" ||
		complain "no $file"
	[ -f "${file%/*}/$page" ] || complain "not installed: $page"
done <"$dir/names"

# ---- Options ------------------------------------------------------------------------------------------------

for command in replay record events dump bundle diff job; do
	page=$man/sbtrace-$command.1
	[ -f "$page" ] || { complain "no manual page for $command"; continue; }
	text=$(mandoc -T ascii "$page" | sed "s/.$(printf "\b")//g") # without overstriking
	for option in $("$SBTRACE" "$command" --help | grep -oE -- '^ +(-., )? *--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
		case $text in
		*"$option"*) ;;
		*) complain "$page does not know $option" ;;
		esac
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
squeeze_lines() {
	sed 's/[[:space:]][[:space:]]*/ /g; s/ *\([^a-zA-Z0-9_]\) */\1/g'
}
words() {
	tr -cs 'a-zA-Z0-9_' '\n' | sort -u
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

sort -u "$dir/functions" "$dir/exports" "$dir/types" | awk -v types="$dir/types" -v names="$dir/names" '
	BEGIN {
		while ((getline <types) > 0) is_type[$1] = 1
		while ((getline <names) > 0) if ($2 == 3) page[$1] = $3
	}
	FILENAME != "-" { if (/^\.F[no] /) { name = FILENAME; sub(/.*\//, "", name); told[name, $2] = 1 } next }
	!($1 in page) { print "no manual page for " $1; next }
	!($1 in is_type) && !((page[$1], $1) in told) { print page[$1] " does not have the prototype of " $1 }
' "$man"/*.3 - >"$dir/missing"
[ ! -s "$dir/missing" ] || complain "$(cat "$dir/missing")"

awk '$2 == 3 { print $1 }' "$dir/names" | sort -u >"$dir/named"
words <"$dir/header.i" >"$dir/header.words"
comm -23 "$dir/named" "$dir/header.words" | sed 's/$/ is named, but there is none/' >"$dir/stale"
[ ! -s "$dir/stale" ] || complain "$(cat "$dir/stale")"

# What pages show of the headers is there, to the letter. Each line after the name of its page.
for what in prototypes structs; do
	awk -v what=$what -f "$SOURCE_DIR/tests/tools/man_code.awk" "$man"/*.3
done | squeeze_lines >"$dir/declared"
cut -d' ' -f2- "$dir/declared" >"$dir/shown"
[ "$(wc -l <"$dir/shown")" -ge 150 ] || complain "too few declarations found in the pages"
awk 'NR == FNR { header = header $0; next }
	!index(header, substr($0, length($1) + 2)) { print "not what the header says: " $0 }
' "$dir/header" "$dir/declared" >"$dir/wrong"
[ ! -s "$dir/wrong" ] || complain "$(cat "$dir/wrong")"

# An event's struct is told in words: it is long, and each event has its own part.
grep -ohE '^struct pt_[a-z_]+ \{' "$include"/*.h | grep -v 'pt_event ' | squeeze_lines |
	awk 'NR == FNR { shown = shown $0 "\n"; next } !index(shown, $0) { print "no page shows " $0 }' "$dir/shown" - >"$dir/hidden"
[ ! -s "$dir/hidden" ] || complain "$(cat "$dir/hidden")"

cat "$man"/*.3 | words >"$dir/page.words"
grep -E '^(pte|ptev|ppt|ptic|pts|ptr|ptrf|ptem|ptds|pcv|pt_ipc|pt_cfe|pt_evd|pt_mol)_[a-z0-9_]+$' "$dir/header.words" |
	grep -vxE 'pt_cfe_type|pt_evd_type' >"$dir/enumerators"
[ "$(wc -l <"$dir/enumerators")" -ge 120 ] || complain "too few enumerators found in the headers"
comm -23 "$dir/enumerators" "$dir/page.words" | sed 's/^/no page knows /' >"$dir/unknown"
[ ! -s "$dir/unknown" ] || complain "$(cat "$dir/unknown")"

# ---- Examples -----------------------------------------------------------------------------------------------

examples=$dir/examples
mkdir "$examples"
awk -v what=code -v dir="$examples" -f "$SOURCE_DIR/tests/tools/man_code.awk" "$man"/*.3 "$man"/*.7
# None is passed over, as its first line is another.
awk '/^\.Bd -literal/ { first = FNR + 1 }
	FNR == first && /^#include/ { print FILENAME ": nobody compiles the example in line " FNR }
' "$man"/*.3 "$man"/*.7 >"$dir/unnamed"
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
