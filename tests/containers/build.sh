#!/bin/sh
# build.sh ROOT FILE BASE COMMAND… : builds the image that FILE describes with what this machine has
# (buildah, podman, or docker with its daemon), and runs the command in it. 77: there is no builder,
# or its base image cannot be had.
set -eu
root=$1; file=$2; base=$3; shift 3
name=lockstep-test-$$

builder=
for each in buildah podman docker; do
  command -v "$each" >/dev/null && "$each" info >/dev/null 2>&1 && { builder=$each; break; }
done
[ -n "$builder" ] || { echo "NO BUILDER OF IMAGES HERE: $file is untested"; exit 77; }

has() {
  case $builder in
    buildah) buildah inspect --type image "$1" >/dev/null 2>&1 ;;
    *) "$builder" image inspect "$1" >/dev/null 2>&1 ;;
  esac
}
has "$base" || "$builder" pull -q "$base" >/dev/null 2>&1 ||
  { echo "NO BASE IMAGE HERE: $base cannot be pulled, and $file is untested"; exit 77; }

cleanup() {
  [ -z "${container:-}" ] || buildah rm "$container" >/dev/null
  case $builder in buildah) buildah rmi "$name" ;; *) "$builder" rmi "$name" ;; esac >/dev/null 2>&1 || :
}
trap cleanup EXIT

cd "$root"
case $builder in
  buildah)
    buildah bud --pull-never -t "$name" -f "$file" .
    container=$(buildah from --pull-never "$name")
    buildah run "$container" -- "$@" ;;
  *)
    "$builder" build -t "$name" -f "$file" .
    "$builder" run --rm --shm-size 1g "$name" "$@" ;;
esac
