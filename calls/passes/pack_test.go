package passes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
)

// TestMoreAtOnceThanArePacked uses more buffers at the same time than shareMemory packs. Their memory may not overlap.
// Buffers that are used later, one after the other, have to be in memory of the first buffers.
func TestMoreAtOnceThanArePacked(t *testing.T) {
	const many, size = mostAtOnce + 100, 256
	var buffers, body strings.Builder
	buffer := func(name string) string {
		fmt.Fprintf(&buffers, "Buffer(name %s, type bf16, elements %d, where %q)\n", name, size, "spec.yaml:1:1 "+name)
		return name
	}
	move := func(out, in string) {
		fmt.Fprintf(&body, "Memcpy(out %s, in %s, elements %d, type bf16, on caller)\n", out, in, size)
	}
	for i := range many {
		move(buffer(fmt.Sprintf("long%d_", i)), "A")
	}
	for i := range many {
		move("C", fmt.Sprintf("long%d_", i))
	}
	for i := range many {
		short := buffer(fmt.Sprintf("short%d_", i))
		move(short, "A")
		move("C", short)
	}
	p, err := text.Parse("case", fmt.Sprintf(`calls p from "spec.yaml"
streams 0
Param(name D, spec "D", value 1)
Mesh(name mesh_world, label "world", axes "x of D", extents [D])
Argument(name A, tensor "A", type bf16, used, elements %d)
Argument(name C, tensor "C", type bf16, output, used, elements %d)
`, size, size)+buffers.String()+"\n"+body.String())
	if err != nil {
		t.Fatal(err)
	}
	shareMemory(p)
	type at struct {
		memory string
		offset int64
	}
	who := map[at]*calls.Buffer{}
	for _, b := range p.Buffers {
		place := at{b.In, b.Offset}
		if b.In == "" {
			place.memory = b.Name
		}
		switch other := who[place]; {
		case strings.HasPrefix(b.Name, "short") && b.In == "":
			t.Errorf("%s has memory of its own", b.Name)
		case strings.HasPrefix(b.Name, "long") && other != nil && strings.HasPrefix(other.Name, "long"):
			t.Errorf("%s and %s are in one place", b.Name, other.Name)
		}
		if who[place] == nil || strings.HasPrefix(b.Name, "long") {
			who[place] = b
		}
	}
}
