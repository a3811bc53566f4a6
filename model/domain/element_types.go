package domain

import (
	"math"
	"strings"
)

// DType is an element type, by its name in specs.
type DType string

// The element types. GEMMs of 8-bit and 16-bit types accumulate in fp32. Integers are seeds, positions, indices of
// rows, counts and masks; operations compute with them in fp32. Elements of fp8 types are only moved, converted and
// multiplied in GEMMs.
const (
	FP32    DType = "fp32"
	FP16    DType = "fp16"
	BF16    DType = "bf16"
	FP8E4M3 DType = "fp8_e4m3"
	FP8E5M2 DType = "fp8_e5m2"
	Int32   DType = "int32"
	Int64   DType = "int64"
)

// An ElementType is an element type: its format, and its names in the languages and libraries that hirgen writes for.
// The model and the emitter read these rows. The headers type_rows.hpp and type_headers.hpp of the runtime are
// generated from them.
type ElementType struct {
	Name   DType
	Cpp    string
	Header string   // the CUDA header that declares Cpp; empty for fp32 and integers, which need none
	NCCL   string   // its NCCL type; for fp8, which NCCL only moves, a type of the same size
	CUDA   string   // its cudaDataType_t for cuBLASLt; empty for integers
	CuDNN  string   // its name in cuDNN; empty if attention does not use it
	PTX    string   // its name in tensor-core instructions; empty if kernels do not use it there
	Stored string   // its name in safetensors files
	Torch  string   // its name in PyTorch, and in Go for types without Header
	Other  []string // names in other systems, for which hints suggest this type
	ABI    int      // its number in the C ABI, which never changes
	Bytes  int64
	Digits int // bits of the fraction; for integers the same as for fp32, in which operations compute with them

	// Least is the exponent of the smallest normal number, and Largest is the largest finite number. Both are 0 for
	// types of more than 16 bits: Round rounds to fp32 first, and then has nothing else to do for them.
	Least   int
	Largest float64
}

// ElementTypes lists the element types in the order in which messages name them.
var ElementTypes = []ElementType{
	{BF16, "__nv_bfloat16", "cuda_bf16.h", "ncclBfloat16", "CUDA_R_16BF", "BFLOAT16", "bf16", "BF16", "bfloat16", nil, 2, 2, 7, -126,
		0x1.FEp127},
	{FP16, "__half", "cuda_fp16.h", "ncclFloat16", "CUDA_R_16F", "HALF", "f16", "F16", "float16", []string{"half", "f16"}, 1, 2, 10,
		-14, 65504},
	{FP32, "float", "", "ncclFloat32", "CUDA_R_32F", "FLOAT", "f32", "F32", "float32", []string{"float", "f32"}, 0, 4, 23, 0, 0},
	{FP8E4M3, "__nv_fp8_e4m3", "cuda_fp8.h", "ncclUint8", "CUDA_R_8F_E4M3", "", "", "F8_E4M3", "float8_e4m3fn",
		[]string{"fp8", "float8", "e4m3"}, 5, 1, 3, -6, 448},
	{FP8E5M2, "__nv_fp8_e5m2", "cuda_fp8.h", "ncclUint8", "CUDA_R_8F_E5M2", "", "", "F8_E5M2", "float8_e5m2",
		[]string{"e5m2"}, 6, 1, 2, -14, 57344},
	{Int32, "int32_t", "", "ncclInt32", "", "", "", "I32", "int32", []string{"int", "i32"}, 3, 4, 23, 0, 0},
	{Int64, "int64_t", "", "ncclInt64", "", "", "", "I64", "int64", []string{"long", "i64"}, 4, 8, 23, 0, 0},
}

// DTypes lists the element types that operations compute in, in the order in which messages name them.
var DTypes []DType

// AllDTypes lists every element type.
var AllDTypes []DType

// Lacking has the names in specs of the element types that C++ and Go lack, each after a space. Emitted programs
// declare these names.
var Lacking string

func init() {
	for _, t := range ElementTypes {
		if AllDTypes = append(AllDTypes, t.Name); t.Name.Computes() {
			DTypes = append(DTypes, t.Name)
		}
		if t.Header != "" {
			Lacking += " " + string(t.Name)
		}
	}
}

// Alias returns the name of the type in emitted C++: the name in the spec, or Cpp for integers.
func (t ElementType) Alias() string {
	if t.Name.IsInteger() {
		return t.Cpp
	}
	return string(t.Name)
}

// Row returns the row of an element type, or the first row for an unknown type.
func (t DType) Row() *ElementType {
	for i := range ElementTypes {
		if ElementTypes[i].Name == t {
			return &ElementTypes[i]
		}
	}
	return &ElementTypes[0]
}

// Size returns the size of one element in bytes.
func (t DType) Size() int64 { return t.Row().Bytes }

// Computes reports whether all operations accept a type: fp32, fp16 and bf16. Integer and fp8 types are moved and cast.
// GEMMs also multiply fp8 elements, and dropouts and gathers read integers. The model casts other integer operands to
// fp32.
func (t DType) Computes() bool { return !t.IsInteger() && !t.Saturates() }

// IsInteger reports whether a type is an integer type.
func (t DType) IsInteger() bool { return t.Row().CUDA == "" }

// Saturates reports whether a number beyond the range of the type is converted to the largest number, and not to an
// infinity. It is true for fp8 types.
func (t DType) Saturates() bool { return t.Row().Bytes == 1 }

// Epsilon returns the distance from 1 to the next larger number of a type. For integers it returns the value for fp32.
func (t DType) Epsilon() float64 { return math.Ldexp(1, -t.Row().Digits) }

// Constant returns the name of the type's constant in this package: "BF16", "FP8E4M3", "Int32".
func (t DType) Constant() string {
	if t.IsInteger() {
		return strings.ToUpper(string(t[:1])) + string(t[1:])
	}
	return strings.ToUpper(strings.ReplaceAll(string(t), "_", ""))
}

// The kinds of values with which a program fills an input when it checks itself. An exact check uses small integers in
// place of normal values, and is not possible if the spec sets FillNormal or FillPositive.
const (
	FillNormal   = "normal"   // normally distributed
	FillPositive = "positive" // absolute values of normal ones, plus 1/4
	FillMask     = "mask"     // 0 or 1
)

// Fills lists the fills that a spec may choose for an input.
var Fills = []string{FillNormal, FillPositive, FillMask}
