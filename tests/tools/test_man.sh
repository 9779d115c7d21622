#!/bin/sh
# The manual pages: mandoc(1) has nothing to say about them, and they know every option there is.
set -u

command -v mandoc >/dev/null || exit 77
failures=0
for page in "$SOURCE_DIR"/man/*.[1-8]; do
	# Which other manuals are found depends on what is installed here.
	complaints=$(mandoc -T lint -W style "$page" 2>&1 | grep -Ev 'referenced manual not found|outdated mandoc.db')
	[ -z "$complaints" ] || { echo "$complaints"; failures=$((failures + 1)); }
done

for command in replay record dump; do
	page=$SOURCE_DIR/man/sbtrace-$command.1
	[ -f "$page" ] || { echo "no manual page for $command"; failures=$((failures + 1)); continue; }
	text=$(mandoc -T ascii "$page" | sed "s/.$(printf "\b")//g") # without overstriking
	for option in $("$SBTRACE" "$command" --help | grep -oE -- '^ +(-., )? *--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'); do
		echo "$text" | grep -q -- "$option" ||
			{ echo "$page does not know $option"; failures=$((failures + 1)); }
	done
done
[ $failures -eq 0 ]
