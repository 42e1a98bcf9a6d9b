# nvcc.sh REPORT COMMAND…: runs the compiler, and keeps what it says in REPORT; that is shown where
# the compiler fails or warns.
report=$1
shift
status=0
"$@" >"$report" 2>&1 || status=$?
if [ "$status" != 0 ]; then cat "$report" >&2; else grep -iA4 'warning' "$report" >&2 || :; fi
exit "$status"
