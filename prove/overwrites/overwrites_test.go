package overwrites_test

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/prove/overwrites"
	"github.com/hirgen/hirgen/prove/unroll"
)

// program has buffers that share one memory, next to each other or at the same bytes, and a buffer in an output.
const program = `calls p from "spec.yaml"
streams 0
Param(name D, spec "D", value 2)
Mesh(name mesh_world, label "world", axes "x of D", extents [D])
Argument(name A, tensor "A", type bf16, used, elements 256)
Argument(name C, tensor "C", type bf16, output, used, elements 256)
Buffer(name memory_, arena, type bf16, elements 384, where "spec.yaml:9:5 memory")
Buffer(name first_, in memory_, type bf16, elements 128, where "spec.yaml:10:5 first")
Buffer(name second_, in memory_, offset 256, type bf16, elements 256, where "spec.yaml:11:5 second")
Buffer(name third_, in memory_, type bf16, elements 256, where "spec.yaml:12:5 third")
Buffer(name fourth_, in C, offset 256, type bf16, elements 64, where "spec.yaml:13:5 fourth")

Memcpy(out first_, in A, elements 128, type bf16, on caller)
Memcpy(out second_, in first_, elements 128, type bf16, on caller)
Memcpy(out fourth_, in second_ + 128, elements 64, type bf16, on caller)
Memcpy(out third_, in fourth_, elements 64, type bf16, on caller)
Memcpy(out third_ + 64, in fourth_, elements 64, type bf16, on caller)
Memcpy(out C, in third_, elements 256, type bf16, on caller)
`

// TestTurns checks that Find reports a use of bytes that another buffer has used since, and nothing else.
func TestTurns(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string // pairs of old and new text
		found   string   // the buffer, and the buffer that has used its bytes; empty: no finding
	}{
		"as it is":                {nil, ""},
		"a buffer is used again":  {[]string{"out C, in third_, elements 256", "out C, in first_, elements 128"}, "first_ third_"},
		"bytes that it has still": {[]string{"out C, in third_, elements 256", "out C, in second_ + 128, elements 64"}, ""},
		"bytes that it has lost": {[]string{"out third_ + 64", "out third_ + 128", "out C, in third_, elements 256",
			"out C, in second_, elements 64"}, "second_ third_"},
		"bytes beside these": {[]string{"out third_ + 64", "out third_ + 128", "out C, in third_, elements 256",
			"out C, in second_ + 128, elements 64"}, ""},
		"another place": {[]string{"offset 256, type bf16, elements 256", "type bf16, elements 256", "in second_ + 128", "in first_"},
			"first_ second_"},
		"behind a result": {[]string{"out third_ + 64, in fourth_", "out C + 128, in fourth_", "out C, in third_, elements 256",
			"out C, in fourth_, elements 64"}, "fourth_ C"},
		"before a result": {[]string{"out C, in third_, elements 256", "out C, in fourth_, elements 64"}, ""},
	} {
		p, err := text.Parse("case", strings.NewReplacer(c.changes...).Replace(program))
		if err != nil {
			t.Fatal(name, err)
		}
		u, err := unroll.Unroll(p, nil)
		if err != nil || len(u.Faults) > 0 {
			t.Fatal(name, err, u.Faults)
		}
		found := ""
		if list := overwrites.Find(u); len(list) > 0 {
			used, by := u.Ranks[list[0].Rank].Accesses[list[0].Access], u.Ranks[list[0].By.Rank].Accesses[list[0].By.Access]
			found = u.Spans[used.Part].Name + " " + u.Spans[by.Part].Name
		}
		if found != c.found {
			t.Errorf("%s: found %q, want %q", name, found, c.found)
		}
	}
}
