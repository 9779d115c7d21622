#!/bin/sh
# The jobs in configs/ work as they are: on a recording made on the spot, as tests/demo makes it. They are what the
# JSON Schema says a job is, and so is what `job show` prints; jobs with mistakes are not.
set -u
. "$SOURCE_DIR/tests/tools/recordings.sh"
configs=$SOURCE_DIR/configs
mkdir "$dir/build" "$dir/build/demo"
cp -r "$configs" "$dir/configs"
cd "$dir" || exit 1

# ---- The schema ---------------------------------------------------------------------------------------------

# validate.py SCHEMA FILE...: tells what is wrong with each file that is not as the schema says.
cat >validate.py <<-'END'
	import sys, json, yaml, jsonschema
	schema = json.load(open(sys.argv[1]))
	jsonschema.Draft7Validator.check_schema(schema)
	validator = jsonschema.Draft7Validator(schema)
	for path in sys.argv[2:]:
	    for error in validator.iter_errors(yaml.safe_load(open(path))):
	        print("%s: %s: %s" % (path, "/".join(map(str, error.path)), error.message))
END
"$SBTRACE" job schema >schema.json || fail "no schema"
schemas=
wrong=
if python3 -c 'import yaml, jsonschema' 2>/dev/null; then
	schemas=yes
	wrong=$(python3 validate.py schema.json configs/*.yaml 2>&1)
	[ -z "$wrong" ] || fail "$wrong"
	mkdir wrong
	number=0
	while read -r mistake; do
		number=$((number + 1))
		printf 'version: 1\nrecording: a\n%b\n' "$mistake" >wrong/$number.yaml
	done <<-'END'
		rots: [a]
		roots: a
		cpu: 3
		cpu: []
		cpu: [x]
		host_root: 1
		jobs: 0
		jobs: 5000
		limits: {memroy: 4G}
		limits: {memory: 4GB}
		on_error: explode
		cluster: {time: 90}
		cluster: {throttle: 0}
		cluster: {partition: a b}
		cluster: {slurm: {partition: a}}
		decode: {errata: [bdm71]}
		decode: {cpu_model: skylake}
		address: [0x401000]
		time: {form: 1}
		sinks: [{name: isn}]
		sinks: [{file: x}]
		sinks: [{name: summary, with: {function: 3}}]
		sinks: [{name: gap, with: {functions: 3}}]
		sinks: [{name: insn, filter: {cmm: [a]}}]
		strict: sometimes
	END
	python3 validate.py schema.json wrong/*.yaml >wrong.txt 2>&1
	for file in wrong/*.yaml; do
		grep -q "^$file: " wrong.txt || fail "the schema lets pass: $(tail -1 "$file")"
	done
else
	echo "note: without python3-yaml and python3-jsonschema, the schema is not tried"
fi

# ---- The examples -------------------------------------------------------------------------------------------

record demo -c 2 -- sh -c 'ls -l /usr | sort | head -3; gzip -c /etc/passwd | wc -c' || exit 1
mv demo.data build/demo/perf.data
mv demo.root build/demo/root
[ "$(find configs -name '*.yaml' | wc -l)" -ge 6 ] || fail "too few examples"
for config in configs/*.yaml; do
	name=$(basename "$config" .yaml)
	"$SBTRACE" job check "$config" || fail "$name is not right"
	"$SBTRACE" job show "$config" >"$name.shown.yaml" || fail "$name cannot be shown"
	# Sanitizers take address space as if it were memory.
	[ "$name" = nightly ] && [ -n "${SANITIZE:-}" ] && set -- --set memory=1000T || set --
	"$SBTRACE" job run "$@" "$config" >"$name.out" 2>"$name.err" || fail "$name: $(cat "$name.err")"
	"$SBTRACE" job verify "$@" "$config" >"$name.verify" 2>&1 || fail "$name again: $(cat "$name.verify")"
	grep -q 'all is the same' "$name.verify" || fail "$name again: $(cat "$name.verify")"
done
[ -z "$schemas" ] || wrong=$(python3 validate.py schema.json ./*.shown.yaml 2>&1)
[ -z "$wrong" ] || fail "$wrong"
for name in example-replay user-only kernel-and-user one-container one-binary; do
	grep -q 'the account balances' $name.out || fail "$name: no summary"
done
grep -q 'the account balances' build/demo/perf-summary.txt || fail "nightly: no summary"
for name in example-replay user-only kernel-and-user one-binary nightly; do
	[ ! -s $name.err ] || fail "$name: $(cat $name.err)"
done
grep -q "warning: no container matches" one-container.err || fail "one-container: $(cat one-container.err)"

# What they write is what they say.
cd build/demo || exit 1
total=$("$SBTRACE" replay --root root --no-host-root perf.data | awk '$1 == "total" { print $2; exit }')
sum()
{
	awk -F '\t' '{ sum += $7 } END { printf "%d", sum }' "$1"
}
[ "$(sum user-blocks.tsv)" -eq "$total" ] || fail "user-only: $(sum user-blocks.tsv) of $total instructions"
[ "$(sum user-half-blocks.tsv)" -eq "$total" ] || fail "kernel-and-user: the user's half"
[ ! -s kernel-blocks.tsv ] || fail "kernel-and-user: a kernel that was not traced"
[ ! -s container-blocks.tsv ] || fail "one-container: somebody"
grep -q "$(printf '\tmain+0x\\|\tmalloc')" user-blocks.tsv || fail "user-only: no functions"
grep -q '/gzip' one-binary.counts || fail "one-binary: no gzip"
! grep -q '/sort' one-binary.counts || fail "one-binary: another binary"
[ "$(awk -F '\t' '$1 == "insn" { sum += $4 } END { printf "%d", sum }' perf.counts)" -eq "$total" ] ||
	fail "nightly: counts"
[ -s nightly.run.json ] || fail "nightly: no run record"
cd "$dir" || exit 1

# ---- A real container, and a program with debug information -------------------------------------------------

if [ "$(id -u)" -eq 0 ] && unshare --pid --mount --fork true 2>/dev/null; then
	record box -- sh -c 'ls / >/dev/null; exec unshare --pid --mount --fork /bin/echo inside' || exit 1
	"$SBTRACE" job run --set recording="$dir/box.data" --set root="$dir/box.root" --set out="$dir" \
		configs/one-container.yaml >box.out 2>&1 || fail "one-container: $(cat box.out)"
	grep -q ' echo ' box.out || fail "one-container: no echo in $(cat box.out)"
	! grep -q ' ls ' box.out || fail "one-container: ls is outside"
	[ -s container-blocks.tsv ] || fail "one-container: no blocks"
else
	echo "note: no container can be made here"
fi

printf 'int main(int argc, char **argv)\n{\n\tint n = 0;\n\t(void)argv;\n\tfor (int i = 0; i < 10; i++)\n\t\tn += i;\n\tif (argc > 5)\n\t\tn = 7;\n\treturn n != 45;\n}\n' >counted.c
"$CC" -g -O0 -o counted counted.c || fail "counted.c"
record counted -- ./counted || exit 1
"$SBTRACE" job run --set recording="$dir/counted.data" --set binary='*/counted' --set out="$dir" \
	configs/one-binary.yaml >counted.log 2>&1 || fail "one-binary: $(cat counted.log)"
grep -qx 'DA:6,10' one-binary.info || fail "one-binary: line 6: $(cat one-binary.info)"
grep -qx 'DA:8,0' one-binary.info || fail "one-binary: line 8: $(cat one-binary.info)"

[ $failures -eq 0 ]
