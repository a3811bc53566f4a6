package emit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// peersAcross maps specs whose ranks exchange data to the orders of steps that the test tries. Some specs exchange
// along an axis of a grid, or on a mesh that has only some of the ranks.
var peersAcross = map[string][]string{
	"../testdata/specs/ag_matmul_p2p/spec.yaml":                {"rotation", "reverse", "pairwise"},
	"../testdata/specs/matmul_ar_p2p/spec.yaml":                {"rotation", "reverse", "pairwise"},
	"../testdata/grids/exchange_grid.yaml":                     {"rotation", "reverse", "pairwise"},
	"../internal/e2e/testdata/moves/exchange_grid_inside.yaml": {"rotation", "reverse", "pairwise"},
	"../internal/e2e/testdata/moves/exchange_halves.yaml":      {"rotation", "reverse"},
	"../internal/e2e/testdata/moves/exchange_inside.yaml":      {"rotation", "reverse"},
	"../internal/e2e/testdata/moves/exchange_turned.yaml":      {"rotation", "reverse", "pairwise"},
}

// TestPeersHaveNames checks that peer ranks have names, so that lines stay short and the arguments of a call do
// not compute a rank.
func TestPeersHaveNames(t *testing.T) {
	computed := regexp.MustCompile(`(of<\w+>|ready_at|done_at|flags)\([^;]*[%^]`)
	for path, orders := range peersAcross {
		for _, transport := range []string{"ipc-get", "ipc-put"} {
			for _, order := range orders {
				program := body(t, emitFile(t, path, "preset", "reference", "pipeline", "p2p", "all.via", transport, "all.steps", order))
				for line := range strings.Lines(program) {
					if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 110 {
						t.Errorf("%s, %s, %s: %d columns:\n%s", path, transport, order, len(line), line)
					}
					if computed.MatchString(line) {
						t.Errorf("%s, %s, %s: a rank without a name:\n%s", path, transport, order, line)
					}
				}
			}
		}
	}
}

// emitFile returns the main source file of a spec, with replaced fields of its schedule.
func emitFile(t *testing.T, path string, fields ...string) string {
	t.Helper()
	name, files := emitSpec(t, path, fields...)
	return string(files[indexOf(t, files, name+".cpp")].Data)
}

// emitSpec emits a spec file with replaced fields of its schedule. fields lists the path and the value of each.
func emitSpec(t *testing.T, path string, fields ...string) (name string, files []emit.File) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var schedule []model.Setting
	for field := range slices.Chunk(fields, 2) {
		schedule = append(schedule, model.Setting{Path: field[0], Value: field[1]})
	}
	pipeline, err := model.Load(filepath.Base(path), text, nil, schedule...)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err = renderHost(program, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Name, files
}
