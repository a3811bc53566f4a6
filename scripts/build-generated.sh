#!/usr/bin/env bash
# Compiles and links every folder under generated/ with the real CUDA toolchain. Nothing
# runs: this machine needs no GPU.
source "$(dirname "$0")/common.sh"

mkdir -p build
mapfile -t settings < <(scripts/cuda-toolchain.sh)
for folder in generated/*/; do
  name=$(basename "$folder")
  say "compiling generated/$name with nvcc"
  start=$SECONDS
  (cd "$folder" && cmake --preset cuda -B "$OLDPWD/build/cuda/$name" "${settings[@]}") >"build/cuda-$name.log" 2>&1 &&
    cmake --build "build/cuda/$name" >>"build/cuda-$name.log" 2>&1 ||
    { cat "build/cuda-$name.log"; exit 1; }
  echo "built in $((SECONDS - start)) s"
done
