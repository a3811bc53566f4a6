package domain

import (
	"flag"
	"os"
	"strings"
	"testing"
	"text/template"
)

var update = flag.Bool("update", false, "write the runtime's headers of rows")

const headers = "../../runtime_cpp/include/hirgen/"

// typesHeader is the header with the rows of ElementTypes as macros.
var typesHeader = template.Must(template.New("").Funcs(template.FuncMap{"enumerator": func(t DType) string {
	return Enumerator(string(t))
}}).Parse(
	`// Element types, as macros that call their argument for each row.
// Code generated from model/domain/element_types.go by scripts/gen.sh; DO NOT EDIT.
#pragma once

// clang-format off

/// Types that operations compute in. row(enumerator, name, C++ type, number in the C ABI, bytes,
/// bits after the point, name in safetensors files, type for cuBLASLt)
#define HG_NUMBER_TYPES(row)
{{- range .}}{{if .CUDA}} \
  row({{enumerator .Name}}, {{.Name}}, {{.Cpp}}, {{.ABI}}, {{.Bytes}}, {{.Digits}}, {{.Stored}}, {{.CUDA}}){{end}}{{end}}

/// Integers. No operation computes in them.
#define HG_INTEGER_TYPES(row)
{{- range .}}{{if not .CUDA}} \
  row({{enumerator .Name}}, {{.Name}}, {{.Cpp}}, {{.ABI}}, {{.Bytes}}, {{.Digits}}, {{.Stored}}, {{.CUDA}}){{end}}{{end}}

#define HG_TYPES(row) HG_NUMBER_TYPES(row) HG_INTEGER_TYPES(row)

// clang-format on
`))

// rowsHeader is the header with the rows of Functions and Folds as macros, which call their argument for each row.
var rowsHeader = template.Must(template.New("").Funcs(template.FuncMap{"enumerator": Enumerator}).Parse(`// Elementwise functions and reductions, as macros that call their argument for each row.
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
`))

// The runtime's headers of rows are current. With -update the test writes them.
func TestRowsHeader(t *testing.T) {
	current(t, headers+"function_rows.hpp", rowsHeader, map[string]any{"Functions": Functions, "Folds": Folds})
	current(t, headers+"type_rows.hpp", typesHeader, ElementTypes)
}

func current(t *testing.T, path string, header *template.Template, rows any) {
	t.Helper()
	var want strings.Builder
	if err := header.Execute(&want, rows); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want.String() {
		t.Errorf("%s is not current; run: make gen", path)
	}
}

// Every function has an expression in C++, and one way to be evaluated.
func TestFunctionRows(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Functions {
		if seen[f.Name] || (f.Unary == nil) == (f.Binary == nil) || (f.Cpp == "") == (f.CppAll == "") || f.Constant && f.Binary == nil {
			t.Errorf("the row of %s is wrong", f.Name)
		}
		seen[f.Name] = true
		if _, ok := ParseBody(f.Gradient, []string{"X", "Y", "dY"}); f.Gradient != "" && f.Gradient != NoGradient && !ok {
			t.Errorf("the gradient of %s is no list of operations on X, Y and dY: %s", f.Name, f.Gradient)
		}
	}
}
