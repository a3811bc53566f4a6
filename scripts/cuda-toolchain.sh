#!/usr/bin/env bash
# Installs the CUDA 13.0 compiler, cudart, cuBLAS, NCCL and cuDNN's headers from PyPI into .tools/, in
# the layout of a CUDA installation. This suffices to compile and link, without a GPU or a driver.
# Prints the CMake settings that use it, one a line.
source "$(dirname "$0")/common.sh"

pins=(
  nvidia-cuda-nvcc==13.0.88
  nvidia-cuda-crt==13.0.88
  nvidia-nvvm==13.0.88
  nvidia-cuda-runtime==13.0.96
  nvidia-cuda-cccl==13.0.85
  nvidia-cuda-nvrtc==13.0.88
  nvidia-cublas==13.0.2.14
  nvidia-nccl-cu13==2.28.9
  nvidia-cudnn-jit-cu13==9.19.0.56
)
venv="$tools/cuda-venv"

if [ "$(cat "$venv/pins" 2>/dev/null)" != "${pins[*]}" ]; then
  say "installing the CUDA 13.0 toolchain under .tools/ (about 1.4 GB, once)" >&2
  make_venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "${pins[@]}" >&2
  packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  ln -sfn "$packages/nvidia/cu13" "$venv/cuda"
  ln -sfn "$packages/nvidia/nccl" "$venv/nccl"
  ln -sfn "$packages/nvidia/cudnn_jit" "$venv/cudnn"
  # The wheels have only versioned libraries; the linker needs links with unversioned names.
  ln -sfn lib "$venv/cuda/lib64"
  for library in "$venv"/cuda/lib/lib*.so.*[0-9]; do
    ln -sfn "$(basename "$library")" "${library%%.so.*}.so"
  done
  ln -sfn libnccl.so.2 "$venv/nccl/lib/libnccl.so"
  chmod +x "$venv"/cuda/bin/* "$venv"/cuda/nvvm/bin/*
  echo "${pins[*]}" >"$venv/pins"
fi

printf '%s\n' \
  "-DCMAKE_CUDA_COMPILER=$venv/cuda/bin/nvcc" \
  "-DCUDAToolkit_ROOT=$venv/cuda" \
  "-DNCCL_ROOT=$venv/nccl" \
  "-DCUDNN_ROOT=$venv/cudnn"
