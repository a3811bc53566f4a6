#!/usr/bin/env bash
# Compiles and links the programs of generated/, those named or all, with the real CUDA toolchain. Each is
# emitted whole for that: the sources are the same, since a test holds that generated/ is what is emitted.
# Nothing runs: this machine needs no GPU. The first folder compiles the runtime, links its objects, as a folder
# by itself does, and leaves it as an archive, which the others link.
source "$(dirname "$0")/common.sh"

folders=$(scripts/emit-examples.sh "$@")
settings=$(scripts/cuda-toolchain.sh)
mapfile -t settings <<<"$settings"
runtimes="$PWD/build/cuda/runtimes"
rm -rf "$runtimes" # of an earlier run, which the first folder would link
for folder in $folders; do
  name=$(basename "$folder")
  say "compiling $name with nvcc"
  start=$SECONDS
  (cd "$folder" && cmake --preset cuda -B "$OLDPWD/build/cuda/$name" "${settings[@]}" -DHIRGEN_CACHE:PATH="$runtimes") >"build/cuda-$name.log" 2>&1 &&
    cmake --build "build/cuda/$name" >>"build/cuda-$name.log" 2>&1 ||
    { cat "build/cuda-$name.log"; exit 1; }
  echo "built in $((SECONDS - start)) s"
done
