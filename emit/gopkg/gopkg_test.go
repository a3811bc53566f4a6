package gopkg

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

func TestPackageNames(t *testing.T) {
	for program, want := range map[string]string{
		"ag_matmul": "agmatmul", "MLP": "mlp", "range": "rangeprogram", "internal": "internalprogram", "context": "contextprogram",
		"foo_test": "footest", "bf16": "bf16program", "x_linux": "xlinux", "Func": "funcprogram", "P": "pprogram", "len": "lenprogram",
	} {
		if got := PackageName(program); got != want {
			t.Errorf("%s becomes %s, want %s", program, got, want)
		}
	}
}

func TestTensorNames(t *testing.T) {
	var tensors []Tensor
	for _, name := range []string{"A", "w_gate", "dW1", "x_1", "x1", "error", "program", "ToBF16", "to_BF16", "toBF163", "9;\n", "\u00e9"} {
		tensors = append(tensors, Tensor{Name: name})
	}
	want := []string{"A", "WGate", "DW1", "X1", "X12", "Error2", "Program2", "ToBF162", "ToBF163", "ToBF1632", "T9", "T"}
	if got := tensorNames(tensors); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestVariables(t *testing.T) {
	names := []string{"A", "WGate", "P", "Range", "RangeTensor", "Math", "Gate"}
	want := []string{"a", "wGate", "pTensor", "rangeTensor", "rangeTensorTensor", "mathTensor", "gateTensor"}
	if got := variables(names, "gate"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTakenNames checks that taken lists the exported names and the exported methods of Program of a package with all
// element types, except the names of tensors, and that ownFiles lists the Go files of the package except q.go.
func TestTakenNames(t *testing.T) {
	files, err := Files(Program{Name: "q", Module: "example/q",
		Tensors: lists.Map(domain.AllDTypes, func(t domain.DType) Tensor { return Tensor{Name: "A" + string(t), Type: t, Output: true} })})
	if err != nil {
		t.Fatal(err)
	}
	var found, own []string
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".go") || strings.Contains(f.Path, "/") {
			continue
		}
		own = append(own, strings.TrimSuffix(f.Path, ".go"))
		file, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			found = append(found, declared(d)...)
		}
	}
	found = slices.DeleteFunc(found, func(name string) bool { return !ast.IsExported(name) || name[0] == 'A' })
	slices.Sort(found)
	if want := slices.Sorted(slices.Values(taken)); !slices.Equal(found, want) {
		t.Errorf("the package has %v, and %v are kept from tensors", found, want)
	}
	if rest := slices.DeleteFunc(own, func(name string) bool { return name == "q" || slices.Contains(ownFiles, name) }); len(rest) > 0 {
		t.Errorf("a program could have the name of the file %s", path.Join(rest...))
	}
}

// declared returns the names that a declaration declares, except methods of types other than *Program.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || receiver(d) == "Program" {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

func receiver(d *ast.FuncDecl) string {
	star, _ := d.Recv.List[0].Type.(*ast.StarExpr)
	if star == nil {
		return ""
	}
	name, _ := star.X.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}
