"""Made-up things that the test adds: each function makes the edits for one, as CONTRIBUTING.md says."""
from scratch import Addition

HEADERS = "runtime_cpp/include/hirgen/"


def function(scratch):
    """Adds the elementwise function cube."""
    a = Addition(scratch, "Add an elementwise function", [HEADERS + "function_rows.hpp"])
    a.insert("model/domain/functions.go", r"^var Functions = \[\]Function\{",
             '\t{Name: "cube", Doc: "the third power", Unary: func(v float64) float64 { return v * v * v }, Cpp: "v * v * v",\n'
             '\t\tGradient: "X_square = mul(X, X), dX_third = mul(dY, X_square), dX = scale(3, dX_third)"},')
    return a


def element_type(scratch):
    """Adds the type dl16, with 6 bits of exponent and 9 bits of fraction."""
    a = Addition(scratch, "Add an element type", [HEADERS + "type_rows.hpp", HEADERS + "type_headers.hpp"])
    rows = "model/domain/element_types.go"
    a.insert(rows, r'^\tBF16 +DType = "bf16"', '\tDL16 DType = "dl16"')
    a.insert(rows, r"^var ElementTypes = \[\]ElementType\{",
             '\t{DL16, "__dl16", "cuda_dl16.h", "ncclDl16", "CUDA_R_16DL", "DL16", "dl16", "DL16", "dl16", nil, 7, 2, 9, -30, 0x1.FF8p31},')
    a.write("emit/gopkg/element/dl16.go", GO_TYPE)
    a.write("runtime_cpp/cpu/include/cuda_dl16.h", CPP_TYPE)
    a.insert("runtime_cpp/cpu/include/nccl.h", r"^  ncclInt8 = 0,", "  ncclDl16 = 99,")
    a.insert("runtime_cpp/cpu/include/cublasLt.h", r"^typedef enum cudaDataType_t \{$", "  CUDA_R_16DL = 99,")
    table = "runtime_cpp/cpu/src/core/element.hpp"
    a.insert(table, r"^#include <cuda_bf16.h>", "#include <cuda_dl16.h>")
    a.insert(table, r"^#define HIRGEN_CPU_FLOATS\(row\) *\\$", "  row(__dl16, ncclDl16, CUDA_R_16DL) \\")
    return a


def collective(scratch):
    """Adds a collective: an allgather by sends and receives, for three ranks."""
    a = Addition(scratch, "Add a collective", [HEADERS + "collective_rows.hpp"])
    rows = "calls/collective/rows.go"
    a.insert(rows, r'^\tAllgather +Type = "Allgather"', '\tSpread Type = "Spread"')
    a.insert(rows, r"^type Form struct \{", "\tDirect bool // ranks send to each other, not along a ring")
    a.insert(rows, r"^var rows = \[\]\*Row\{", '\t{Spread, "spread", "spread", "", "", Form{Direct: true}},')
    a.insert("lowering/transport/convert_to_communications.go", r"^\tform := collective\.Form\{FromRoot.*",
             "\tform.Direct = form == collective.Form{} && m.In.Mesh.Size() == 3")
    a.write("templates/nccl/spread.tmpl", TEMPLATE)
    return a


def schedule_value(scratch):
    """Adds the order of steps leaps: in step s a rank uses the shard of rank + 3 s."""
    a = Addition(scratch, "Add a schedule field or value")
    a.insert("model/schedule/table.go", r'^\tRotation +(?:string )?= "rotation"', '\tLeaps = "leaps"')
    a.insert("model/schedule/table_communication.go", r"^\t+\{Name: Rotation, Doc: .*\},",
             '\t\t\t\t{Name: Leaps, Doc: "in step s the shard of rank + 3 s; unless 3 divides the ranks", legal: inLeaps},')
    a.append("model/schedule/legal.go", LEGAL)
    a.insert("lowering/ranks/along.go", r"^func \(r \*Axis\) along\(.*\{", ALONG)
    return a


GO_TYPE = """package element

import (
	"math"
	"strconv"
)

// A DL16 is a number with 6 bits of exponent and 9 after the point, by its bits.
type DL16 uint16

// ToDL16 is the number nearest to f, the even one of two.
func ToDL16(f float32) DL16 {
	bits := math.Float32bits(f)
	sign, magnitude := DL16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case f != f:
		return sign | 0x7f00
	case magnitude >= 0x4f7fe000:
		return sign | 0x7e00
	case magnitude < 0x30800000:
		return sign | DL16(math.RoundToEven(math.Abs(float64(f))*(1<<39)))
	}
	return sign | DL16((magnitude-0x30000000+0x1fff+magnitude>>14&1)>>14)
}

// Float32 is the same number, exactly.
func (d DL16) Float32() float32 {
	exponent, value := int(d>>9&0x3f), float64(d&0x1ff)
	switch exponent {
	case 0:
		exponent = 1
	case 0x3f:
		return float32(math.Log(value)) // infinite or no number
	default:
		value += 1 << 9
	}
	return float32(math.Copysign(math.Ldexp(value, exponent-40), float64(int16(d))))
}

// String spells the number.
func (d DL16) String() string { return strconv.FormatFloat(float64(d.Float32()), 'g', 4, 32) }
"""

CPP_TYPE = """#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

/// A number with 6 bits of exponent and 9 after the point.
struct __dl16 {
  uint16_t __x;

  __dl16() = default;
  __dl16(float value) : __x(rounded(value)) {}
  operator float() const {
    const int exponent = __x >> 9 & 0x3F, fraction = __x & 0x1FF;
    const float value = exponent == 0x3F ? (fraction == 0 ? INFINITY : NAN)
                                         : ldexpf(fraction + (exponent == 0 ? 0 : 512), (exponent == 0 ? 1 : exponent) - 40);
    return copysignf(value, (__x & 0x8000) == 0 ? 1.0F : -1.0F);
  }

 private:
  static uint16_t rounded(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000u;
    bits &= 0x7FFFFFFFu;
    if (bits > 0x7F800000u) return 0x7F00;
    if (bits >= 0x4F7FE000u) return static_cast<uint16_t>(sign | 0x7E00u);
    if (bits < 0x30800000u) return static_cast<uint16_t>(sign | static_cast<uint32_t>(rintf(ldexpf(fabsf(value), 39))));
    return static_cast<uint16_t>(sign | (bits - 0x30000000u + 0x1FFFu + (bits >> 14 & 1u)) >> 14);
  }
};
"""

TEMPLATE = """{{- /* each rank sends its shard to all. dot: *calls.NcclCall */ -}}
{{ note . }}
{{- if not .Grouped }}
HG_CHECK(ncclGroupStart(), {{ .Label }});
{{- end }}
for (int peer = 0; peer < {{ .Team }}.size; ++peer) {
  HG_CHECK(ncclSend({{ ptr .In }}, {{ cpp .Count }}, {{ nccl .Type }}, peer, {{ .Team }}.comm, {{ stream .On }}), {{ .Label }});
  HG_CHECK(ncclRecv({{ ptr .Out }} + {{ offset .Count }}, {{ cpp .Count }}, {{ nccl .Type }}, peer, {{ .Team }}.comm,
                    {{ stream .On }}), {{ .Label }});
}
{{- if not .Grouped }}
HG_CHECK(ncclGroupEnd(), {{ .Label }});
{{- end }}
"""

LEGAL = """
// inLeaps requires that leaps of three ranks lead to all ranks.
func inLeaps(c *Facts) *Problem {
	if c.Ranks%3 == 0 {
		return problem("choose steps: rotation", "leaps of three do not lead to all %d ranks of mesh axis %s", c.Ranks, c.Axis)
	}
	return nil
}
"""

ALONG = """\tif r.Order == schedule.Leaps {
		leap := expr.Op("*", expr.Int(3), steps)
		if back {
			return expr.Op("%", expr.Op("-", expr.Op("+", expr.Op("*", expr.Int(3), around), coordinate), leap), around)
		}
		return expr.Op("%", expr.Op("+", coordinate, leap), around)
	}"""
