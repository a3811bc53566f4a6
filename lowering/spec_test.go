package lowering

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
)

// specText is an example spec.
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
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, specText{filepath.Base(filepath.Dir(file)), string(text)})
	}
	return list
}

// sizes gives the parameters that specs have values that every division allows: d ranks
// along the mesh axis, s slices.
func sizes(d, s int64) map[string]int64 {
	return map[string]int64{
		"D": d, "S": s, "M": 2 * s * d, "N": 3 * d, "K": 2 * d, // products
		"B": 2, "L": 3, "H": 2 * d, "C": 2, // attention
	}
}

// onMesh loads a spec on a mesh of its own text, at a small size.
func (s specText) onMesh(t *testing.T, mesh string, sizes map[string]int64) *model.Pipeline {
	t.Helper()
	text := s.text
	if !strings.Contains(text, "mesh: {x: D}") {
		t.Fatalf("spec %s has another mesh than {x: D}", s.name)
	}
	text = strings.Replace(text, "mesh: {x: D}", "mesh: "+mesh, 1)
	values := map[string]int64{}
	for name, value := range sizes {
		if strings.Contains(text, name+": ") && strings.Contains(paramLine(text), name+":") {
			values[name] = value
		}
	}
	p, err := model.Load("spec.yaml", []byte(text), values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func paramLine(text string) string {
	_, after, _ := strings.Cut(text, "params:")
	line, _, _ := strings.Cut(after, "}")
	return line
}

// onEveryMesh visits the meshes that a spec of one mesh axis runs on: 2, 4, 8 ranks in a
// row, and rows and columns of 2x2 and 2x4.
func onEveryMesh(t *testing.T, visit func(t *testing.T, s specText, mesh string, d int64)) {
	t.Helper()
	for _, s := range specTexts(t) {
		for _, d := range []int64{2, 4, 8} {
			for _, mesh := range []string{"{x: D}", "{x: D, y: 2}", "{y: 2, x: D}"} {
				if d == 8 && mesh != "{x: D}" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/D=%d", s.name, mesh, d), func(t *testing.T) { visit(t, s, mesh, d) })
			}
		}
	}
}

// TestSpecsKeepTheResult follows every example spec through all passes, with fewer and
// more slices than streams.
func TestSpecsKeepTheResult(t *testing.T) {
	n := 0
	onEveryMesh(t, func(t *testing.T, s specText, mesh string, d int64) {
		t.Helper()
		slices := []int64{1, 3, 4, 6}[n%4]
		form := forms[(n/2)%len(forms)]
		n++
		p := s.onMesh(t, mesh, sizes(d, slices))
		p.Schedule.Sync, p.Schedule.Joins, p.Schedule.Streams = form[0], form[1], 1+n%4
		p.Schedule.Buffers = []string{"keep", "free"}[n%2]
		followPasses(t, p, newOracle(t, p, uint64(n)))
	})
}

// TestSpecsWithoutOptionalPasses leaves out each optional pass in turn.
func TestSpecsWithoutOptionalPasses(t *testing.T) {
	for _, s := range specTexts(t) {
		p := s.onMesh(t, "{x: D}", sizes(2, 3))
		o := newOracle(t, p, 4)
		for _, pass := range Passes {
			if pass.Required {
				continue
			}
			t.Run(s.name+"/"+pass.Name, func(t *testing.T) {
				program, err := Lower(p, Options{Disable: []string{pass.Name}, Verify: true})
				if err != nil {
					t.Fatal(err)
				}
				for seed := range uint64(4) {
					if err := o.check(program, seed); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// TestSpecsInAnyOrderOfPasses shuffles the table within its constraints.
func TestSpecsInAnyOrderOfPasses(t *testing.T) {
	for n, s := range specTexts(t) {
		t.Run(s.name, func(t *testing.T) {
			p := s.onMesh(t, "{x: D}", sizes(2, 3))
			o := newOracle(t, p, 4)
			for seed := range uint64(6) {
				passes := shuffled(seed + uint64(10*n))
				program, err := Build(p)
				if err != nil {
					t.Fatal(err)
				}
				if err := Run(program, passes, Options{Verify: true}); err != nil {
					t.Fatalf("%s: %v", names(passes), err)
				}
				if err := o.check(program, seed); err != nil {
					t.Fatalf("%s: %v", names(passes), err)
				}
			}
		})
	}
}
