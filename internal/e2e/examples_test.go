package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hirgen/hirgen/internal/launch"
	"github.com/hirgen/hirgen/model"
)

// exampleSize is a size for tests of each parameter that an example spec may have beside D.
var exampleSize = params{
	"S": 4, "M": 128, "N": 48, "K": 32, // products
	"B": 2, "L": 6, "H": 8, "C": 8, // attention
}

// renamed gives specs one name, so that they take turns in a folder and only the program is
// compiled for each.
var renamed = regexp.MustCompile(`(?m)^name: .*$`)

// example reads a spec under testdata/specs with its parameters for d ranks on an axis.
func example(t *testing.T, path string, d int64) (spec string, values params) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Load("spec.yaml", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	values = params{}
	for _, param := range p.Params {
		if size, ok := exampleSize[param.Name]; ok {
			values[param.Name] = size
		} else if param.Name == "D" {
			values["D"] = d
		}
	}
	return renamed.ReplaceAllString(string(text), "name: example"), values
}

// TestExampleSpecs runs every spec under testdata/specs on two and on four ranks, in several
// orders of execution.
func TestExampleSpecs(t *testing.T) {
	specs, err := filepath.Glob("../../testdata/specs/*/spec.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	examples := folder{name: "examples", cache: []string{quick}}
	for _, path := range specs {
		for _, d := range []int64{2, 4} {
			t.Run(fmt.Sprintf("%s/D=%d", filepath.Base(filepath.Dir(path)), d), func(t *testing.T) {
				spec, values := example(t, path, d)
				ranks := examples.emit(t, spec, values).Meshes[0].Size()
				program := examples.build(t)
				for seed := range int64(4) {
					run(t, launch.Options{Program: program, N: ranks, Seed: seed, Args: brief}).mustPass(t)
				}
			})
		}
	}
}
