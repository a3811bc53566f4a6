package soak

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hirgen/hirgen/model"
)

// yardDir makes the folder for the builds of all tests. They share it, so that the runtime is compiled once.
var yardDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "soak") })

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := yardDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// yard returns a Yard for a test.
func yard(tb testing.TB, orders int64) *Yard {
	tb.Helper()
	dir, err := yardDir()
	if err != nil {
		tb.Fatal(err)
	}
	return &Yard{Dir: dir, Orders: orders}
}

func examples(tb testing.TB) []Example {
	tb.Helper()
	root := filepath.Join("..", "..", "..")
	list, err := Examples(filepath.Join(root, "testdata", "specs", "*", "spec.yaml"), filepath.Join(root, "testdata", "grids", "*.yaml"),
		filepath.Join(root, "internal", "e2e", "testdata", "moves", "*.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// TestMakeIsRepeatable checks that the same seed and number always make the same spec, and that Clone copies all of it.
func TestMakeIsRepeatable(t *testing.T) {
	o := Options{Seed: 3, Examples: examples(t)}
	for number := range uint64(300) {
		first := o.Make(number)
		if again := o.Make(number); first.Text() != again.Text() {
			t.Fatalf("number %d is\n%s\nand then\n%s", number, first.Text(), again.Text())
		}
		if copied := first.Clone(); copied.Text() != first.Text() {
			t.Fatalf("a copy differs:\n%s", copied.Text())
		}
	}
}

// TestFindingsAreMadeSmall checks that Shrink removes all that a finding does not need.
func TestFindingsAreMadeSmall(t *testing.T) {
	o := Options{Seed: 1}
	for number := range uint64(50) {
		spec := o.Make(number)
		hasSum := func(s Spec) *Finding { // a made-up finding: the spec has a sum
			for _, op := range s.Ops {
				if outcome := Examine(s); op.Fn == "sum" && outcome.Refused == "" {
					return &Finding{Spec: s, Kind: Differs}
				}
			}
			return nil
		}
		f := hasSum(spec)
		if f == nil {
			continue
		}
		if small := Shrink(f, hasSum, time.Minute).Spec; len(small.Ops) != 1 || len(small.Schedule) != 0 || len(small.Tensors) > 2 {
			t.Errorf("number %d stays\n%s", number, small.Text())
		}
	}
}

// TestRunReportsWhatItFinds checks that a search prints a finding once, with the command that repeats it, and
// ends.
func TestRunReportsWhatItFinds(t *testing.T) {
	var log strings.Builder
	s := &search{Options: Options{Log: &log, Repeat: "make soak SEED=4 ONLY=%d"}, found: map[string]*Finding{}}
	spec := s.Make(7)
	for range 2 {
		s.report(&Finding{Spec: spec, Kind: Panics, Detail: "out of range [3] with length 2", Number: 7}, func(Spec) *Finding {
			return nil
		}, time.Second)
	}
	if got := strings.Count(log.String(), "make soak SEED=4 ONLY=7"); got != 1 {
		t.Errorf("the finding is printed %d times:\n%s", got, log.String())
	}
	if s.Seconds = 100; !s.over() {
		t.Error("the search goes on after a finding")
	}
}

// TestSoak is a short search from a fixed seed: the same specs in every run, some of which are built.
func TestSoak(t *testing.T) {
	o := Options{
		Seed: 1, Seconds: 300, Specs: 300, Every: 40, Builds: packSize, Examples: examples(t), Log: os.Stdout,
		Yard: yard(t, 2), Repeat: "make soak SEED=1 ONLY=%d",
	}
	counts, found := Run(o)
	if len(found) > 0 {
		t.Errorf("%d findings; docs/soak.md says how to read them", len(found))
	} else if counts.Accepted < 140 || counts.Built == 0 {
		t.Errorf("of %d specs %d are accepted, and %d built", counts.Specs, counts.Accepted, counts.Built)
	}
}

// TestLegalSpecsAreAccepted checks that all specs of MakeLegal are accepted, and each form occurs often.
func TestLegalSpecsAreAccepted(t *testing.T) {
	forms := map[string]int{"Stream": 0, "permute": 0, "DIDx": 0, "matmul": 0, "linear": 0}
	for number := range uint64(300) {
		spec := MakeLegal(1, number)
		outcome := Examine(spec)
		if outcome.Finding != nil || outcome.Refused != "" {
			t.Fatalf("%v %v\n%s", outcome.Refused, outcome.Finding, spec.Text())
		}
		text := spec.Text()
		for form := range forms {
			if strings.Contains(text, form) {
				forms[form]++
			}
		}
	}
	for form, count := range forms {
		if count < 30 {
			t.Errorf("%s occurs in %d of 300 specs", form, count)
		}
	}
}

// TestRefusalsOfLegalSpecsAreFindings checks that a refusal is a finding for a legal spec, and none for other
// specs.
func TestRefusalsOfLegalSpecsAreFindings(t *testing.T) {
	spec := MakeLegal(1, 0)
	spec.Tensors[0].Axes[0].Size += 7
	if f := Examine(spec).Finding; f == nil || f.Kind != Unwelcome {
		t.Errorf("a refusal is %v\n%s", f, spec.Text())
	}
	if spec.Legal = false; Examine(spec).Finding != nil {
		t.Error("it is a finding in a spec that may be refused")
	}
}

// TestWhatWasFound checks that specs of earlier findings are accepted, have every property, and run.
func TestWhatWasFound(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "found", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	var pack []accepted
	for _, file := range files {
		p, _, err := model.LoadFile(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := Examine(specOf(p))
		if o.Finding != nil || !o.Compared {
			t.Fatalf("%s: %v %+v", file, o.Refused, o.Finding)
		}
		newCounts().add(specOf(p), o)
		pack = append(pack, accepted{spec: specOf(p), outcome: o})
	}
	for _, f := range yard(t, 1).Try(pack) {
		t.Errorf("%s\n%s\n%s", f.Kind, f.Spec.Text(), f.Detail)
	}
}

// TestPacksBuild checks that programs with and without kernels are built as one, whichever is the first.
func TestPacksBuild(t *testing.T) {
	const head = "hirgen: 1\nname: one\nmesh: {x: 2}\ndtype: fp32\ntensors:\n  A: [DIDx(2), 4]\n"
	with, without := head+"ops:\n  - B = relu(A)\n  - C = scale(B, by=2)\n", head+"  B: [2, 4]\nops:\n  - B = set(A)\n"
	y := yard(t, 1)
	for _, texts := range [][]string{{with, without, with}, {without, with}} {
		var pack []accepted
		for _, text := range texts {
			p, err := model.Load("spec.yaml", []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			pack = append(pack, accepted{spec: specOf(p), outcome: Examine(specOf(p))})
		}
		for _, f := range y.Try(pack) {
			t.Errorf("%s\n%s", f.Kind, f.Detail)
		}
	}
}

// TestExamplesAreSpecs checks that specOf turns examples into specs that the loader accepts, with as many operations.
func TestExamplesAreSpecs(t *testing.T) {
	for _, e := range examples(t) {
		p, err := model.Load("spec.yaml", []byte(e.text), nil)
		if err != nil || strings.Contains(e.text, "dropout(") {
			continue // the spec needs parameters, or its dropout expands to operations that specs cannot name
		}
		spec := specOf(p)
		if again, err := model.Load("spec.yaml", []byte(spec.Text()), nil); err != nil || len(again.Ops) != len(p.Ops) {
			t.Errorf("%s: %v\n%s", e.name, err, spec.Text())
		}
	}
}
