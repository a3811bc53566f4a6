#!/usr/bin/env bash
# Compiles and links every folder under generated/ with the real CUDA toolchain. Nothing
# runs: this machine needs no GPU. The first folder is built as it is; the others share one
# compiled runtime, which the first of them leaves.
source "$(dirname "$0")/common.sh"

mkdir -p build
mapfile -t settings < <(scripts/cuda-toolchain.sh)
unset HIRGEN_RUNTIME_DIR
runtimes=
for folder in generated/*/; do
  name=$(basename "$folder")
  say "compiling generated/$name with nvcc"
  start=$SECONDS
  (cd "$folder" && cmake --preset cuda -B "$OLDPWD/build/cuda/$name" "${settings[@]}" -DHIRGEN_RUNTIME_DIR:PATH="$runtimes") >"build/cuda-$name.log" 2>&1 &&
    cmake --build "build/cuda/$name" >>"build/cuda-$name.log" 2>&1 ||
    { cat "build/cuda-$name.log"; exit 1; }
  echo "built in $((SECONDS - start)) s"
  runtimes="$PWD/build/cuda/runtimes"
done
