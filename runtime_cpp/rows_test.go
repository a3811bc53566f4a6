package runtime_cpp

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

var update = flag.Bool("update", false, "write the headers of rows")

// headers holds, by file name, the templates of the headers that are generated from tables.
var headers = map[string]string{
	"type_rows.hpp": `// Element types, as macros that call their argument for each row.
// Code generated from model/domain/element_types.go by scripts/gen.sh; DO NOT EDIT.
#pragma once

// clang-format off

/// Types that operations compute in. row(enumerator, name, C++ type, number in the C ABI, bytes,
/// bits after the point, name in safetensors files, types for cuBLASLt, cuDNN and tensor cores,
/// exponent of the smallest normal number)
#define HG_NUMBER_TYPES(row)
{{- range .Types}}{{if .Name.Computes}} \
  row({{enumerator (print .Name)}}, {{.Name}}, {{.Cpp}}, {{.ABI}}, {{.Bytes}}, {{.Digits}}, {{.Stored}}, {{.CUDA}}, {{.CuDNN}}, {{.PTX}}, {{or .Least -126}}){{end}}{{end}}

/// Numbers of 8 bits. Operations move and convert them, and GEMMs multiply them.
#define HG_SHORT_TYPES(row)
{{- range .Types}}{{if .Name.Saturates}} \
  row({{enumerator (print .Name)}}, {{.Name}}, {{.Cpp}}, {{.ABI}}, {{.Bytes}}, {{.Digits}}, {{.Stored}}, {{.CUDA}}, , , {{.Least}}){{end}}{{end}}

/// Integers. Kernels compute with them in fp32.
#define HG_INTEGER_TYPES(row)
{{- range .Types}}{{if .Name.IsInteger}} \
  row({{enumerator (print .Name)}}, {{.Name}}, {{.Cpp}}, {{.ABI}}, {{.Bytes}}, {{.Digits}}, {{.Stored}}, , , , ){{end}}{{end}}

#define HG_FLOAT_TYPES(row) HG_NUMBER_TYPES(row) HG_SHORT_TYPES(row)
#define HG_TYPES(row) HG_FLOAT_TYPES(row) HG_INTEGER_TYPES(row)

// clang-format on
`,

	"type_headers.hpp": `// CUDA's headers of element types.
// Code generated from model/domain/element_types.go by scripts/gen.sh; DO NOT EDIT.
#pragma once

{{range .Headers}}{{if .}}#include <{{.}}>
{{end}}{{end}}`,

	"function_rows.hpp": `// Elementwise functions and reductions, as macros that call their argument for each row.
// Code generated from model/domain/functions.go by scripts/gen.sh; DO NOT EDIT.
#pragma once

// clang-format off

/// row(enumerator, name, statement that applies the function to all values x)
#define HG_UNARY_FUNCTIONS(row)
{{- range .Functions}}{{if .Unary}} \
  row({{enumerator .Name}}, {{.Name}}, {{or .CppAll (print "for (float& v : x) v = " .Cpp)}}){{end}}{{end}}

/// row(enumerator, name, statement that applies the function, with the constant by, to all values x)
#define HG_CONSTANT_FUNCTIONS(row)
{{- range .Functions}}{{if .Constant}} \
  row({{enumerator .Name}}, {{.Name}}, for (float& v : x) v = {{.Cpp}}){{end}}{{end}}

/// row(enumerator, name, expression of the values a and b)
#define HG_BINARY_FUNCTIONS(row)
{{- range .Functions}}{{if and .Binary (not .Constant)}} \
  row({{enumerator .Name}}, {{.Name}}, {{.Cpp}}){{end}}{{end}}

/// row(enumerator, name, binary function that it repeats, result for no elements)
#define HG_FOLDS(row)
{{- range .Folds}} \
  row({{enumerator .Name}}, {{.Name}}, {{enumerator .Fn}}, {{.Identity}}){{end}}

/// row(enumerator, name, cuBLASLt's epilogue, the same after a bias)
#define HG_EPILOGUES(row)
{{- range .Functions}}{{if .Epilogue}} \
  row({{enumerator .Name}}, {{.Name}}, {{.Epilogue}}, {{.Epilogue}}_BIAS){{end}}{{end}}

// clang-format on
`,

	"collective_rows.hpp": `// Collectives, as macros that call their argument for each row.
// Code generated from calls/collective/rows.go by scripts/gen.sh; DO NOT EDIT.
#pragma once

// clang-format off

/// row(name in reports, whether each rank contributes or receives a shard, how often data goes
/// around a ring)
#define HG_COLLECTIVES(row)
{{- range .Collectives}} \
  row({{.Type.Kind}}, {{sliced .}}, {{.Rounds}}){{end}}

/// row(kind in traces, function of NCCL)
#define HG_NCCL_COLLECTIVES(row)
{{- range .Collectives}}{{if .NCCL}} \
  row(kNccl, {{.NCCL}}){{end}}{{end}}

// clang-format on
`,
}

// TestRowsHeader checks that the generated headers are equal to the result of their templates. With -update it writes
// them first.
func TestRowsHeader(t *testing.T) {
	rows := map[string]any{
		"Types": domain.ElementTypes, "Functions": domain.Functions, "Folds": domain.Folds, "Collectives": collective.Rows(),
	}
	rows["Headers"] = slices.Compact(lists.Map(domain.ElementTypes, func(e domain.ElementType) string { return e.Header }))
	parser := template.New("").Funcs(template.FuncMap{"enumerator": domain.Enumerator, "sliced": func(r *collective.Row) bool {
		sent, received := r.Slices(2)
		return sent+received > 2
	}})
	for name, text := range headers {
		var want strings.Builder
		if err := template.Must(parser.Parse(text)).Execute(&want, rows); err != nil {
			t.Fatal(err)
		}
		path := "include/hirgen/" + name
		if *update {
			_ = os.WriteFile(path, []byte(want.String()), 0o644)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want.String() {
			t.Errorf("%s is not current; run: make gen", path)
		}
	}
}
