package lowering

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// specText is a spec, with the name of its folder or file.
type specText struct{ name, text string }

// specTexts reads every example spec.
func specTexts(t *testing.T) []specText {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "specs", "*", "spec.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	var list []specText
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, specText{filepath.Base(filepath.Dir(file)), string(source)})
	}
	return list
}

// withConcats reads the example specs and others: a layer that concatenates gradients, a router of experts, a spec whose
// collectives form a group, specs that reshape and quantize rows, and specs whose ranks send parts of
// all-to-alls and sums.
func withConcats(t *testing.T) []specText {
	t.Helper()
	list := specTexts(t)
	for _, path := range []string{
		"testdata/layers/llama_attention_sp_backward.yaml", "testdata/layers/router.yaml", "internal/e2e/testdata/moves/grouped.yaml",
		"internal/e2e/testdata/moves/reshaped_rows.yaml", "internal/e2e/testdata/moves/batches.yaml",
		"internal/e2e/testdata/moves/quantized_rows.yaml",
		"internal/e2e/testdata/moves/quantized_columns.yaml",
		"internal/e2e/testdata/moves/sent_parts.yaml", "internal/e2e/testdata/moves/sent_sums.yaml",
	} {
		source, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, specText{strings.TrimSuffix(filepath.Base(path), ".yaml"), string(source)})
	}
	return list
}

// sizes returns values for the parameters of specs, for d ranks along the mesh axis and s slices, such that all
// divisions in the specs are exact.
func sizes(d, s int64) map[string]int64 {
	return map[string]int64{
		"D": d, "S": s, "M": 2 * s * d, "N": 3 * d, "K": 2 * d, // matmuls
		"B": 2, "L": d, "H": 2 * d, "G": d, "C": 2, // attentions
	}
}

// onMesh loads a spec with mesh in place of its mesh {x: D}. sizes has values for parameters; it may also have names
// that are not in the spec.
func (s specText) onMesh(t *testing.T, mesh string, sizes map[string]int64) *model.Pipeline {
	t.Helper()
	source := s.text
	if !strings.Contains(source, "mesh: {x: D}") {
		t.Fatalf("spec %s has another mesh than {x: D}", s.name)
	}
	source = strings.Replace(source, "mesh: {x: D}", "mesh: "+mesh, 1)
	values := map[string]int64{}
	for name, value := range sizes {
		if strings.Contains(source, name+": ") && strings.Contains(paramLine(source), name+":") {
			values[name] = value
		}
	}
	p, err := model.Load("spec.yaml", []byte(source), values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func paramLine(source string) string {
	_, after, _ := strings.Cut(source, "params:")
	line, _, _ := strings.Cut(after, "}")
	return line
}

// onEveryMesh visits each example spec on several meshes, with D ranks along x: {x: D} for D = 2, 4 and 8, and for D = 2
// and 4 also the rows of 2xD ranks and the columns of Dx2 ranks. Without full, it visits about a quarter of the
// combinations.
func onEveryMesh(t *testing.T, visit func(t *testing.T, s specText, mesh string, d int64)) {
	t.Helper()
	for n, s := range specTexts(t) {
		for i, d := range []int64{2, 4, 8} {
			for j, mesh := range []string{"{x: D}", "{x: D, y: 2}", "{y: 2, x: D}"} {
				if d == 8 && mesh != "{x: D}" || !inTurn(i+3*j, 4, n) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/D=%d", s.name, mesh, d), func(t *testing.T) { visit(t, s, mesh, d) })
			}
		}
	}
}

// TestSpecsKeepTheResult checks the results of every example spec after each pass that changed the program, with fewer
// and with more slices than streams.
func TestSpecsKeepTheResult(t *testing.T) {
	t.Parallel()
	n := 0
	onEveryMesh(t, func(t *testing.T, s specText, mesh string, d int64) {
		t.Helper()
		count := []int64{1, 3, 4, 6}[n%4]
		form := forms[(n/2)%len(forms)]
		n++
		p := s.onMesh(t, mesh, sizes(d, count))
		choose(&p.Schedule, "initial_waits "+form[0], "joins "+form[1], fmt.Sprint("streams ", 1+n%4), "buffers "+[]string{"keep", "free"}[n%2])
		fit(p)
		followPasses(t, p, lowertest.NewOracle(t, p, uint64(n)))
	})
}

// TestGridsKeepTheResult checks specs whose tensors are split over both axes of a grid, after each pass and without
// each optional pass.
func TestGridsKeepTheResult(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "grids", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for n, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, grid := range [][2]int64{{2, 2}, {4, 2}, {2, 4}} {
			if !inTurn(i, 3, n) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%dx%d", filepath.Base(file), grid[0], grid[1]), func(t *testing.T) {
				p, err := model.Load("spec.yaml", source, map[string]int64{"D": grid[0], "R": grid[1], "K": 8, "N": 16})
				if err != nil {
					t.Fatal(err)
				}
				variant(p, 1+n, forms[n%len(forms)][0], forms[n%len(forms)][1], "before")
				o := lowertest.NewOracle(t, p, uint64(n))
				followPasses(t, p, o)
				for _, pass := range Passes {
					if !pass.Required {
						checkWithout(t, p, o, pass.Name)
					}
				}
			})
		}
	}
}

// specSchedules returns schedules by name: the spec's own schedule, with which some optional passes change nothing, and
// others with which these passes change the program if the spec permits that.
func specSchedules(p *model.Pipeline) map[string]schedule.Schedule {
	own := p.Schedule
	if own.Get(schedule.Preset) == schedule.Auto { // auto chooses once, and the result is used for all passes
		if program, err := Host(p, Options{}); err == nil {
			own = program.Choices.Schedule
			own.Unset(schedule.Preset)
		}
	}
	choose(&p.Schedule, "initial_waits fused, joins after, buffers free, streams 3, all.lead all, all.signals batched, all.fuse gemm")
	fit(p)
	all := p.Schedule
	forms := map[string]schedule.Schedule{"own": own, "all": all, "eager": {Choices: []schedule.Choice{
		{Field: schedule.Preset, Value: schedule.Eager}, {Field: schedule.Buffers, Value: schedule.Free},
	}}}
	if p.Name == "mlp_sp" { // kernels read its sums
		p.Schedule = schedule.Schedule{}
		choose(&p.Schedule, "pipeline p2p, all.steps ring")
		forms["ring"] = p.Schedule
	}
	if p.Name == "transformer_block_backward" { // its sums are needed whole on both ranks
		p.Schedule = schedule.Schedule{}
		choose(&p.Schedule, "pipeline p2p, all.via ipc-put")
		forms["put"] = p.Schedule
	}
	p.Schedule = own
	return forms
}

// TestSpecsWithoutOptionalPasses disables each optional pass that changes a program, and then all of them. The results
// have to stay the same. Each pass has to make a difference in the program of some spec. Unless the run is full, it skips
// half of the programs of each pass after the first such program.
func TestSpecsWithoutOptionalPasses(t *testing.T) {
	t.Parallel()
	var optional []string
	for _, pass := range Passes {
		if !pass.Required {
			optional = append(optional, pass.Name)
		}
	}
	missed := map[string]bool{}
	for n, s := range withConcats(t) {
		p := s.onMesh(t, "{x: D}", sizes(2, 3))
		o := lowertest.NewOracle(t, p, 4)
		schedules := specSchedules(p)
		for f, form := range slices.Sorted(maps.Keys(schedules)) {
			p.Schedule = schedules[form]
			whole, changing := lowerText(t, p)
			for i, pass := range optional {
				if !changing[pass] { // the program is the same without it
					continue
				}
				if missed[pass] && !inTurn(i, 2, n, f) {
					continue
				}
				t.Run(s.name+"/"+form+"/"+pass, func(t *testing.T) {
					missed[pass] = checkWithout(t, p, o, pass) != whole || missed[pass]
				})
			}
			t.Run(s.name+"/"+form+"/every one", func(t *testing.T) { checkWithout(t, p, o, optional...) })
		}
		t.Run(s.name+"/one rank", func(t *testing.T) {
			const pass = "serialize-single-ranks" // it changes nothing on a mesh axis of several ranks
			p := s.onMesh(t, "{x: D}", sizes(1, 3))
			whole, _ := lowerText(t, p)
			missed[pass] = checkWithout(t, p, lowertest.NewOracle(t, p, 4), pass) != whole || missed[pass]
		})
	}
	for _, pass := range optional {
		if !missed[pass] {
			t.Errorf("no spec's program has anything of %s", pass)
		}
	}
}

// lowerText returns the text of a lowered program, and the names of the passes that change it.
func lowerText(t *testing.T, p *model.Pipeline) (string, map[string]bool) {
	t.Helper()
	changing := map[string]bool{}
	program, err := Host(p, Options{Verify: true, DumpAfter: func(pass, _ string, changed bool) { changing[pass] = changed }})
	if err != nil {
		t.Fatal(err)
	}
	return text.Print(program), changing
}

// checkWithout lowers a pipeline without the given passes, and checks the results in one order of execution, or in four
// in a full run. It returns the text of the program.
func checkWithout(t *testing.T, p *model.Pipeline, o *lowertest.Oracle, passes ...string) string {
	t.Helper()
	own := p.Schedule
	fit(p, passes...)
	defer func() { p.Schedule = own }()
	program, err := Host(p, Options{Disable: passes, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	check := o.Orders(program)
	for seed := range atMost(1, 4) {
		if err := check(seed); err != nil {
			t.Fatal(err)
		}
	}
	return text.Print(program)
}

// TestSpecsInAnyOrderOfPasses checks results with the passes in random orders that their constraints allow.
func TestSpecsInAnyOrderOfPasses(t *testing.T) {
	t.Parallel()
	for n, s := range withConcats(t) {
		p := s.onMesh(t, "{x: D}", sizes(2, 3))
		o := lowertest.NewOracle(t, p, 4)
		for form, schedule := range specSchedules(p) {
			p.Schedule = schedule
			t.Run(s.name+"/"+form, func(t *testing.T) {
				for seed := range atMost(2, 6) {
					checkOrdered(t, p, o, shuffled(seed+uint64(10*n)), seed)
				}
			})
		}
	}
}

func checkOrdered(t *testing.T, p *model.Pipeline, o *lowertest.Oracle, passes []Pass, seed uint64) {
	t.Helper()
	program, err := Build(p)
	if err == nil {
		err = Run(program, passes, Options{Verify: true})
	}
	if err == nil {
		err = o.Check(program, seed)
	}
	if err != nil {
		t.Fatalf("%s: %v", names(passes), err)
	}
}
