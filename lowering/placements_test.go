package lowering

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// wanted matches the comment of a spec with its expected communications: "# want: ReduceScatter, Allgather".
var wanted = regexp.MustCompile(`(?m)^# want: (.*)$`)

// smallSizes matches the comment of a spec with the sizes at which its results are computed: "# small: M 12, N 24".
var smallSizes = regexp.MustCompile(`(?m)^# small: (.*)$`)

// sizesOf adds the sizes in a comment of a spec to the map sizes, and returns the map.
func sizesOf(t *testing.T, comment *regexp.Regexp, spec string, sizes map[string]int64) map[string]int64 {
	t.Helper()
	if found := comment.FindStringSubmatch(spec); found != nil {
		for pair := range strings.SplitSeq(found[1], ", ") {
			name, size, _ := strings.Cut(pair, " ")
			number, err := strconv.ParseInt(size, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sizes[name] = number
		}
	}
	return sizes
}

// TestPlacements checks, on 2, 3 and 4 ranks, that specs without placements get the expected communications with
// preset: none, and that each pass keeps their results.
func TestPlacements(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "placements", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := wanted.FindStringSubmatch(string(text))
		if want == nil {
			t.Errorf("%s does not say what it gets", file)
			continue
		}
		for _, d := range []int64{2, 3, 4} {
			t.Run(fmt.Sprint(strings.TrimSuffix(filepath.Base(file), ".yaml"), "/", d), func(t *testing.T) {
				load := func(sizes map[string]int64) *model.Pipeline {
					p, err := model.Load("spec.yaml", text, sizes)
					if err != nil {
						t.Fatal(err)
					}
					p.Schedule.Set("", schedule.Preset, schedule.None)
					return p
				}
				p := load(sizesOf(t, smallSizes, string(text), map[string]int64{"D": d}))
				followPasses(t, p, lowertest.NewOracle(t, p, uint64(d)))
				p = load(map[string]int64{"D": d})
				program, err := Host(p, Options{})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for c := range hostir.Each[*hostir.Communication](program.Body) {
					got = append(got, string(c.Type))
				}
				slices.Sort(got)
				if joined := strings.Join(got, ", "); joined != want[1] {
					t.Errorf("communications: %s; want %s", joined, want[1])
				}
			})
		}
	}
}

// TestAssignPlacements runs the test cases of the pass assign-placements.
func TestAssignPlacements(t *testing.T) { lowertest.PassCases(t, schedules.Placing, assignPlacements) }
