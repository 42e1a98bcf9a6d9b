# measured.sh FOLDER OBJECT COMMAND… : compiles, and notes the processor time that it took, as the
# shell's `times` tells it, in FOLDER, under the object's name. ./lab dev costs reads it.
folder=$1 object=$2
shift 2
"$@" || exit
mkdir -p "$folder"
{ times; echo "$object"; } >"$folder/${object##*/}"
