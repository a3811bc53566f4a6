package interp

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls/text"
)

// TestNamesOfRanks checks that a Let with a coordinate outside of its mesh is an error even if its name is unused,
// because the emitted program would read outside of its list of ranks. On a rank that is not in the mesh, the Let has
// no effect.
func TestNamesOfRanks(t *testing.T) {
	const program = `calls p from "spec.yaml"
streams 1
Param(name D, spec "D", value 3)
Mesh(name mesh_world, label "world", axes "x of D", extents [D])
Mesh(name mesh_left, label "left", axes "x of 2", extents [2], ranks [2, 0])

Let(name to, mesh mesh_left, at 1 - AHEAD) @5:5
`
	for ahead, mistake := range map[string]string{"1": "", "2": "5:5, rank 0, Let(name to, mesh mesh_left, at 1 - 2): there is no rank " +
		"at 1 - 2"} {
		p, err := text.Parse("p.calls", strings.ReplaceAll(program, "AHEAD", ahead))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(p, nil, []map[string]*Array{{}, {}, {}}, 1)
		if (err == nil) != (mistake == "") || err != nil && !strings.Contains(err.Error(), mistake) {
			t.Errorf("%s ahead: %v, want %q", ahead, err, mistake)
		}
	}
}
