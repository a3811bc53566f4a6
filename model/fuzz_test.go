package model_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// FuzzLoad checks that any text either loads to a sound pipeline, or is refused with diagnostics that point into it.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"../testdata/specs/*/spec.yaml", "../testdata/errors/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := model.Load("spec.yaml", src, nil)
		if err == nil {
			checkSound(t, p)
			return
		}
		var errs *diag.Errors
		if !errors.As(err, &errs) || len(errs.Items) == 0 {
			t.Fatalf("not a list of diagnostics: %v", err)
		}
		for _, d := range errs.Items {
			checkPlace(t, src, d)
		}
		diag.Render(&bytes.Buffer{}, errs, func(string) ([]byte, bool) { return src, true })
	})
}

// checkPlace checks that a diagnostic points into the text, or has no position.
func checkPlace(t *testing.T, src []byte, d *diag.Diagnostic) {
	t.Helper()
	if diag.Explain(string(d.Code)) == "" || strings.ContainsFunc(d.Message, func(r rune) bool { return r < ' ' }) {
		t.Errorf("bad diagnostic: %q", d)
	}
	if !d.Pos.IsValid() {
		return
	}
	line, ok := diag.Line(src, d.Pos.Line)
	if !ok || d.Pos.Col < 1 || d.Pos.Col > len(line)+2 { // a line may end in "\r\n"
		t.Errorf("%v is not in the text", d)
	}
}

// checkSound checks the properties of a pipeline that later stages rely on.
func checkSound(t *testing.T, p *model.Pipeline) {
	t.Helper()
	defined := map[*model.Tensor]bool{}
	for _, in := range p.Inputs {
		defined[in] = true
	}
	for _, op := range p.Ops {
		for _, in := range op.In {
			if !defined[in] {
				t.Errorf("%v: operand %s is not defined", op.Pos, in.Name)
			}
		}
		if defined[op.Out] || op.Out.Producer != op {
			t.Errorf("%v: result %s is not defined here alone", op.Pos, op.Out.Name)
		}
		for _, t := range op.Results() {
			defined[t] = true
		}
	}
	if len(p.Ops) == 0 || len(p.Outputs) == 0 || len(defined) != len(p.Tensors) {
		t.Errorf("%d operations, %d outputs, %d of %d tensors are defined", len(p.Ops), len(p.Outputs), len(defined), len(p.Tensors))
	}
	for _, tensor := range p.Tensors {
		for _, axis := range tensor.Axes {
			if axis.Size < 1 || axis.Kind == domain.Device && tensor.Mesh.Axis(axis.Mesh).Size != axis.Size {
				t.Errorf("tensor %s has the axis %s", tensor.Name, axis)
			}
		}
	}
}
