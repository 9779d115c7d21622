# run_faces.sh PT_FACES: generated traces, and damaged ones; SBTRACE_DIFF_COUNT of each.
set -u

count=${SBTRACE_DIFF_COUNT:-300}
# A run that begins right before a PSB.
"$1" --seed 206158 --count 1 && "$1" --seed 1 --count "$count" && "$1" --seed 1 --count "$count" --mutate yes
