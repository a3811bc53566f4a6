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

// The functions of the spec, as the kernels name them. A function that is missing here is an error of the spec.
var (
	unaryFns = map[string]string{
		"copy": "kCopy", "neg": "kNeg", "relu": "kRelu", "gelu": "kGelu", "silu": "kSilu", "exp": "kExp", "log": "kLog", "sin": "kSin", "cos": "kCos",
		"sqrt": "kSqrt", "rsqrt": "kRsqrt", "tanh": "kTanh", "reciprocal": "kReciprocal", "gelu_tanh": "kGeluTanh",
		"relu_grad": "kReluGrad", "gelu_grad": "kGeluGrad", "silu_grad": "kSiluGrad", "gelu_tanh_grad": "kGeluTanhGrad",
		"scale": "kScale", "shift": "kShift",
	}
	epilogues = map[string]string{"relu": "hirgen::Epilogue::kRelu", "gelu_tanh": "hirgen::Epilogue::kGeluTanh"}
	binaryFns = map[string]string{
		"add": "kAdd", "sub": "kSub", "mul": "kMul", "div": "kDiv", "max": "kMax", "min": "kMin",
		"ge": "kGe", "gt": "kGt", "eq": "kEq", "keep": "kKeep", "drop": "kDrop", "masked": "kMasked",
	}
	reduceFns = map[string]string{"sum": "kSum", "max": "kMax", "min": "kMin", "prod": "kProd"}
	ncclFns   = map[string]string{"sum": "ncclSum", "max": "ncclMax", "min": "ncclMin", "prod": "ncclProd"}
)

// unaryFn prints a function of one operand as an argument of launch_unary.
func unaryFn(spelling string) (text string, ok bool) {
	name, constant := domain.SplitFn(spelling)
	kind, ok := unaryFns[name]
	kind = "hirgen::UnaryFn::" + kind
	if constant == "" || !ok {
		return kind, ok && domain.ConstantFns[name] == nil
	}
	return braces(kind, floatLiteral(constant)), domain.UnaryFn(spelling) != nil
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
