#!/usr/bin/env bash
# Compiles and links the programs of generated/, the named ones or all, with the real CUDA toolchain. No program
# runs, so the machine needs no GPU. The folders are emitted again with everything that a build needs; a test
# ensures that generated/ has the same sources. The first folder compiles the runtime and links its objects, as
# a single folder does. It also leaves an archive of the runtime, which the other folders link. Warnings of nvcc are
# errors: with a warning alone, nvcc compiles a host function that device code calls.
source "$(dirname "$0")/common.sh"

folders=$(scripts/emit-examples.sh "$@")
settings=$(scripts/cuda-toolchain.sh)
mapfile -t settings <<<"$settings"
runtimes="$PWD/build/cuda/runtimes"
rm -rf "$runtimes" # otherwise the first folder would link the archive of an earlier run
for folder in $folders; do
  name=$(basename "$folder")
  say "compiling $name with nvcc"
  start=$SECONDS
  (cd "$folder" && cmake --preset cuda -B "$OLDPWD/build/cuda/$name" "${settings[@]}" -DCMAKE_CUDA_FLAGS=-Werror=all-warnings -DHIRGEN_CACHE:PATH="$runtimes") >"build/cuda-$name.log" 2>&1 &&
    cmake --build "build/cuda/$name" >>"build/cuda-$name.log" 2>&1 ||
    { cat "build/cuda-$name.log"; exit 1; }
  echo "built in $((SECONDS - start)) s"
done
