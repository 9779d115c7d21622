# run_faces.sh PT_FACES: generated traces, and damaged ones; SBTRACE_DIFF_COUNT of each.
set -u

count=${SBTRACE_DIFF_COUNT:-300}
# Those that were wrong once: a run that begins right before a PSB; time that passes twice before a unit; a
# question in the middle of a chain of paths, which then was taken for one that the next path follows; and circles
# that a face leaves because it goes round them more often, which is no difference.
"$1" --seed 206158 --count 1 && "$1" --seed 600054 --count 1 --mutate yes &&
	"$1" --seed 602170 --count 1 --mutate yes && "$1" --seed 1000746 --count 1 &&
	"$1" --seed 2008308 --count 1 && "$1" --seed 3001604 --count 1 --mutate yes &&
	"$1" --seed 1 --count "$count" && "$1" --seed 1 --count "$count" --mutate yes
