#!/usr/bin/env bash
# Compiles and links the programs of generated/, those named or all, with the real CUDA toolchain. Each is
# emitted whole for that: the sources are the same, since a test holds that generated/ is what is emitted.
# Nothing runs: this machine needs no GPU. The first folder is built as it is; the others share one
# compiled runtime, which the first of them leaves.
source "$(dirname "$0")/common.sh"

folders=$(scripts/emit-examples.sh "$@")
settings=$(scripts/cuda-toolchain.sh)
mapfile -t settings <<<"$settings"
unset HIRGEN_RUNTIME_DIR
runtimes=
for folder in $folders; do
  name=$(basename "$folder")
  say "compiling $name with nvcc"
  start=$SECONDS
  (cd "$folder" && cmake --preset cuda -B "$OLDPWD/build/cuda/$name" "${settings[@]}" -DHIRGEN_RUNTIME_DIR:PATH="$runtimes") >"build/cuda-$name.log" 2>&1 &&
    cmake --build "build/cuda/$name" >>"build/cuda-$name.log" 2>&1 ||
    { cat "build/cuda-$name.log"; exit 1; }
  echo "built in $((SECONDS - start)) s"
  runtimes="$PWD/build/cuda/runtimes"
done
