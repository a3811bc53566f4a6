package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/internal/tools/recall/faults"
	"github.com/hirgen/hirgen/model"
)

// exampleSize has the sizes that tests give to the parameters of example specs, other than D.
var exampleSize = params{
	"S": 4, "M": 128, "N": 48, "K": 32, // products
	"B": 2, "L": 8, "H": 16, "G": 8, "C": 4, // attention
}

// renamed matches the name of a spec. Specs get one name, so that they share a folder, and only the program is compiled
// for each.
var renamed = regexp.MustCompile(`(?m)^name: .*$`)

// place is the mesh of an example: d ranks along mesh axis x, once, or once for each index of another axis.
type place struct {
	mesh string
	d    int64
}

// row has d ranks. rows and columns are grids of twice as many: ranks along x are adjacent in rows, and not in columns.
func row(d int64) place     { return place{"{x: D}", d} }
func rows(d int64) place    { return place{"{y: 2, x: D}", d} }
func columns(d int64) place { return place{"{x: D, y: 2}", d} }

// String names a test: "y=2,x=4".
func (p place) String() string {
	return strings.NewReplacer("{", "", "}", "", ": ", "=", ", ", ",", "D", fmt.Sprint(p.d)).Replace(p.mesh)
}

// seeds returns the number of orders of execution that a program runs in.
func (p place) seeds() int64 {
	if p.d > 4 || p.mesh != "{x: D}" && p.d > 2 {
		return seedsOf(2) // eight ranks
	}
	return seedsOf(4)
}

// placesOf returns where the n-th example runs: in all places in a full test, and else on 2 or 4 ranks and in one other
// place, which depend on n.
func placesOf(n int) []place {
	rowsAlone, elsewhere := []place{row(2), row(4)}, []place{row(8), rows(2), columns(2), rows(4), columns(4)}
	if !full {
		rowsAlone, elsewhere = rowsAlone[n%len(rowsAlone):][:1], elsewhere[n%len(elsewhere):][:1]
	}
	return append(rowsAlone, elsewhere...)
}

// example reads a spec with the mesh {x: D}, and its parameters for a place.
func example(t *testing.T, path string, at place) (spec string, values params) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(file), "mesh: {x: D}", "mesh: "+at.mesh, 1)
	if !strings.Contains(text, "mesh: "+at.mesh) {
		t.Fatalf("%s has another mesh than {x: D}", path)
	}
	p, err := model.Load("spec.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	values = params{}
	for _, param := range p.Params {
		if size, ok := exampleSize[param.Name]; ok {
			values[param.Name] = size
		} else if param.Name == "D" {
			values["D"] = at.d
		}
	}
	return renamed.ReplaceAllString(text, "name: example"), values
}

// examples is the folder that the examples share.
var examples = folder{"examples"}

// mustShowMistakesInTables compares the logs of examples with faulty tables: the logs must find exactly the faults that
// are listed as found by them. No other test runs meanwhile.
func mustShowMistakesInTables(t *testing.T, compared *sync.Map) {
	t.Helper()
	for _, f := range faults.Tables() {
		of, ok := compared.Load(f.Example)
		if !ok {
			continue // the test ran only some examples
		}
		mistakes := of.(*comparison).under(f)
		if finds := len(mistakes) > 0; finds != slices.Contains(f.FoundBy, "log") {
			t.Errorf("%s: %s: the log of %s finds it: %t %.300q", f.Table, f.Mistake, f.Example, finds, mistakes)
		}
	}
}

// TestExampleSpecs runs every spec under testdata/specs on rows and grids of ranks, in
// several orders of execution.
func TestExampleSpecs(t *testing.T) {
	specs, err := filepath.Glob("../../testdata/specs/*/spec.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	var compared sync.Map // examples that were compared, by name
	t.Cleanup(func() { mustShowMistakesInTables(t, &compared) })
	for n, path := range specs {
		for i, at := range placesOf(n) {
			name := filepath.Base(filepath.Dir(path))
			t.Run(fmt.Sprintf("%s/%s", name, at), func(t *testing.T) {
				examples := examples.beside(t)
				spec, values := example(t, path, at)
				of := examples.runs(t, spec, values, at.seeds())
				if i == 0 {
					compared.Store("specs/"+name+"/spec", of)
				}
			})
		}
	}
}

// sizeForThree replaces exampleSize for three ranks: 3 divides every size here that specs split over ranks.
var sizeForThree = params{"S": 4, "M": 192, "N": 48, "K": 48, "B": 2, "L": 12, "H": 12, "G": 6, "C": 4}

// TestExamplesByDefault runs the examples without their schedules, and so with what auto chooses for them, on 2, 3 and 4
// ranks: every fourteenth of them, or all.
func TestExamplesByDefault(t *testing.T) {
	specs, err := filepath.Glob("../../testdata/specs/*/spec.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for n, path := range specs {
		for i, d := range []int64{2, 3, 4} {
			if !full && (3*n+i)%14 != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/x=%d", filepath.Base(filepath.Dir(path)), d), func(t *testing.T) {
				examples := examples.beside(t)
				spec, values := example(t, path, row(d))
				if d == 3 {
					for name := range values {
						if size, ok := sizeForThree[name]; ok {
							values[name] = size
						}
					}
				}
				examples.runs(t, withSchedule(spec, "auto"), values, row(d).seeds())
			})
		}
	}
}

// TestGrids runs every spec under testdata/grids, whose tensors are split over both axes of a
// grid.
func TestGrids(t *testing.T) {
	specs, err := filepath.Glob("../../testdata/grids/*.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	grids := []params{{"D": 2, "R": 2}}
	if full {
		grids = append(grids, params{"D": 4, "R": 2}, params{"D": 2, "R": 4})
	}
	for _, path := range specs {
		for _, grid := range grids {
			t.Run(fmt.Sprintf("%s/D=%d,R=%d", filepath.Base(path), grid["D"], grid["R"]), func(t *testing.T) {
				examples := examples.beside(t)
				spec, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				examples.runs(t, renamed.ReplaceAllString(string(spec), "name: example"), grid, seedsOf(4))
			})
		}
	}
}

// runs emits a spec, builds it, and runs it on every rank of its world in some orders. In the first order it also compares the
// memory accesses of the calls with the accesses that the calls declare.
func (f folder) runs(t *testing.T, spec string, values params, seeds int64) (compared *comparison) {
	t.Helper()
	ranks := f.emit(t, spec, values).Meshes[0].Size()
	program := f.build(t)
	for variant, transport := range f.transports() {
		args := append(slices.Clone(brief), transport...)
		for seed := range seeds {
			options := launch.Options{Program: program, N: ranks, Seed: seed, Args: args}
			log := filepath.Join(t.TempDir(), "log")
			if seed == 0 {
				options.Env = []string{"HIRGEN_CPU_LOG=" + log}
			}
			run(t, options).mustPass(t)
			if seed == 0 {
				compared = f.comparesLog(t, variant, log)
			}
		}
	}
	return compared
}
