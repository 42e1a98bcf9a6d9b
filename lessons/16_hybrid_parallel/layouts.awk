# One row of a table of layouts, from what a run prints:
#   ./lab train … | awk -v way="--tp 8" -f lessons/16_hybrid_parallel/layouts.awk
# Its columns: time of a step, share of it that stages are idle, exposed communication, memory of a rank.
/stages stood idle/ { idle = $6 + 0 }
/^  step/ { step = $2 " " $3 }
/^  communication/ { exposed = $(NF - 2) " " $(NF - 1) }
/^  memory/ { memory = $2 }
END { printf "%-48s%8s%7.1f %%%10s%7.0f GB\n", way, step, idle, exposed, memory }
