package emit

import (
	"math"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/model/domain"
)

// cppType has the names of an element type in each library.
type cppType struct {
	Alias string // in emitted code: "bf16"
	Cpp   string // the type that the alias stands for
	DType string // the runtime's enumerator
	NCCL  string
}

var cppTypes = map[domain.DType]cppType{
	domain.FP32: {"fp32", "float", "hirgen::DType::kFp32", "ncclFloat32"},
	domain.FP16: {"fp16", "__half", "hirgen::DType::kFp16", "ncclFloat16"},
	domain.BF16: {"bf16", "__nv_bfloat16", "hirgen::DType::kBf16", "ncclBfloat16"},
	// Integers have no alias.
	domain.Int32: {"int32_t", "", "hirgen::DType::kInt32", "ncclInt32"},
	domain.Int64: {"int64_t", "", "hirgen::DType::kInt64", "ncclInt64"},
}

// typeHeaders maps an alias to the header that declares its Cpp type.
var typeHeaders = map[string]string{"fp16": "cuda_fp16.h", "bf16": "cuda_bf16.h"}

// unaryFn prints a function of one operand as an argument of launch_unary.
func unaryFn(spelling string) (text string, ok bool) {
	name, constant := domain.SplitFn(spelling)
	kind := "hirgen::UnaryFn::" + domain.Enumerator(name)
	if constant != "" {
		kind = braces(kind, floatLiteral(constant))
	}
	return kind, spelling == domain.Copy || domain.UnaryFn(spelling) != nil
}

// floatLiteral spells a decimal number as an fp32 constant of C++. It spells a subnormal number in hexadecimal,
// because some compilers warn about decimal digits that they round there.
func floatLiteral(number string) string {
	if v, err := strconv.ParseFloat(number, 32); err == nil && v != 0 && math.Abs(v) < smallestNormal {
		return strconv.FormatFloat(v, 'x', -1, 32) + "F"
	}
	if !strings.ContainsAny(number, ".e") {
		number += ".0"
	}
	return number + "F"
}

// smallestNormal is the smallest positive normal fp32 number.
const smallestNormal = 0x1p-126

// decimal prints a number as a double of C++, and 0 as an empty text.
func decimal(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
