# Takes the code out of a manual page (mdoc) that has no other use than being true.
#
# Into the directory `dir` go: NAME.c for each display that begins with "/* NAME.c", a program or a part of one;
# session, to which displays are appended that begin with "$ ", commands and what they print.
# Standard output gets the struct definitions of the page, and the prototypes of its SYNOPSIS, one in a line, behind the
# page's name.
# `what` is "code", "structs" or "prototypes".

function clean(line)
{
	gsub(/\\e/, "\\", line)
	gsub(/\\&/, "", line)
	return line
}

# The words of a macro line, in quotes or not, from the third field on, joined by commas.
function arguments(line,    n, list)
{
	list = ""
	while (match(line, /^ *("[^"]*"|[^ ]+)/)) {
		n = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		gsub(/^ +|"/, "", n)
		list = list (list == "" ? "" : ", ") n
	}
	return list
}

FNR == 1 { page = FILENAME; sub(/.*\//, "", page); section = ""; in_display = 0 }

/^\.Sh / { section = $2 }

what == "prototypes" && section == "SYNOPSIS" {
	if ($1 == ".Ft")
		type = arguments(substr($0, 5))
	else if ($1 == ".Fn")
		print page " " type " " $2 "(" arguments(substr($0, 5 + length($2))) ")"
	else if ($1 == ".Fo") {
		prototype = type " " $2 "("
		separator = ""
	} else if ($1 == ".Fa") {
		prototype = prototype separator arguments(substr($0, 5))
		separator = ", "
	} else if ($1 == ".Fc")
		print page " " prototype ")"
}

/^\.Bd -literal/ { in_display = 1; first = 1; next }
/^\.Ed/ {
	if (in_display && kind == what && what == "structs")
		print page " " struct
	in_display = 0
	struct = ""
	next
}

in_display && first {
	first = 0
	kind = ""
	if (match($0, /^\/\* [a-z]+\.c /)) {
		kind = "code"
		out = dir "/" substr($2, 1)
	} else if ($1 == "$") {
		kind = "code"
		out = dir "/session"
	} else if ($1 == "struct")
		kind = "structs"
}
in_display && kind == what && what == "code" { print clean($0) >>out }
in_display && kind == what && what == "structs" {
	if (/^struct/ && struct ~ /};[ \t]*$/) {
		print page " " struct
		struct = ""
	}
	struct = struct " " $0
}
