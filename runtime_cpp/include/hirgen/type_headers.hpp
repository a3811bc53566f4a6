// CUDA's headers of element types.
// Code generated from model/domain/element_types.go by scripts/gen.sh; DO NOT EDIT.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
