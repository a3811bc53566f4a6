package text

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir"
)

func TestJSONKeepsTheOrderOfKeys(t *testing.T) {
	p, err := Parse("p.hir", `program p from "spec.yaml"
param S = 2
mesh world: x = 2, ranks 0..1
streams 2
choices pipeline p2p, graph true, all.via ipc-get, all.steps reverse, A.split 2
auto given A.split by "a measurement"
tensor A: bf16 [S, DIDx(2)], mesh world, input, layout [0, 1] @3:4

If rank == 0: @5:6  # only there
  For s in S:
    Synchronize(worker s % 2)
Else:
  h = Communication(Broadcast, mesh world axis x, root 0, in A, out A, NCCL)
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := JSON(p)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "name": "p",
  "file": "spec.yaml",
  "params": {
    "S": 2
  },
  "meshes": [
    {
      "name": "world",
      "axes": {
        "x": 2
      },
      "ranks": [
        0,
        1
      ]
    }
  ],
  "streams": 2,
  "choices": {
    "preset": null,
    "pipeline": "p2p",
    "streams": 4,
    "transport": null,
    "nodes": null,
    "reshard": "before",
    "buffers": "keep",
    "graph": true,
    "initial_waits": "split",
    "joins": "after",
    "local_shard": "in-place",
    "kernels": "fused",
    "deterministic": false,
    "delay": 0,
    "all": {
      "via": "ipc-get",
      "lead": "all",
      "steps": "reverse",
      "local": "first",
      "split": 1,
      "block": null,
      "interchange": false,
      "fuse": "none",
      "copy": "engine",
      "signals": "single"
    },
    "A": {
      "split": 2
    }
  },
  "auto": {
    "given": [
      "A.split"
    ],
    "basis": "a measurement"
  },
  "tensors": [
    {
      "name": "A",
      "dtype": "bf16",
      "role": "input",
      "axes": [
        "S",
        "DIDx(2)"
      ],
      "local_shape": [
        2,
        1
      ],
      "mesh": "world",
      "layout": [
        0,
        1
      ],
      "pos": "spec.yaml:3:4"
    }
  ],
  "body": [
    {
      "op": "If",
      "cond": "rank == 0",
      "pos": "spec.yaml:5:6",
      "note": "only there",
      "body": [
        {
          "op": "For",
          "var": "s",
          "count": "S",
          "body": [
            {
              "op": "Synchronize",
              "stream": "worker s % 2"
            }
          ]
        }
      ],
      "else": [
        {
          "op": "Communication",
          "handle": "h",
          "type": "Broadcast",
          "mesh": "world",
          "axis": "x",
          "root": "0",
          "in": "A",
          "out": "A",
          "backend": "NCCL"
        }
      ]
    }
  ]
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestJSONHasTheFallback checks that the object of the fallback variant equals its JSON as a separate program.
func TestJSONHasTheFallback(t *testing.T) {
	decode := func(p *hostir.Program) (object map[string]any) {
		text, err := JSON(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	p := generate(0)
	if diff := cmp.Diff(decode(p.Fallback), decode(p)["fallback"]); diff != "" {
		t.Errorf("-alone +within:\n%s", diff)
	}
}

// TestJSONHasEveryStatement checks that the result for generated programs is valid JSON, and names all results of
// top-level statements with several results.
func TestJSONHasEveryStatement(t *testing.T) {
	for seed := range uint64(100) {
		p := generate(seed)
		text, err := JSON(p)
		if err != nil {
			t.Fatal(err)
		}
		var read struct {
			Body []struct {
				Out     any // a string or null
				Further []string
			}
		}
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("seed %d: no JSON: %v\n%s", seed, err, text)
		}
		var want, got [][]string
		for _, s := range p.Body {
			if defs := hostir.Defs(s); len(defs) > 1 && hostir.Handle(s) == "" {
				want = append(want, names(defs...))
			}
		}
		for _, s := range read.Body {
			if len(s.Further) > 0 {
				got = append(got, append([]string{fmt.Sprint(s.Out)}, s.Further...))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// TestJSONSaysWhoRunsAStatement checks that a statement has "ranks" if not all ranks run it.
func TestJSONSaysWhoRunsAStatement(t *testing.T) {
	p, err := Parse("p.hir", `program p from "spec.yaml"
mesh world: x = 4, ranks 0..3
mesh left: x = 2, ranks 0..1
mesh right: x = 2, ranks 3 1
mesh and_one: x = 3, ranks 3 1 2
streams 1
tensor A: bf16 [DIDx(2), 2], mesh left, input
tensor B: bf16 [DIDx(2), 2], mesh right, output

B = Allocate
s = Communication(SendRecv, mesh left, in A, out B, NCCL)
Wait(s)
b = Communication(Broadcast, mesh and_one axis x, root 2, in A, out B, NCCL)
B = Unary(neg, B)
`)
	if err != nil {
		t.Fatal(err)
	}
	text, err := JSON(p)
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ Body []struct{ Ranks []int } }
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range read.Body {
		lines = append(lines, strings.Trim(fmt.Sprint(s.Ranks), "[]"))
	}
	want := []string{"1 3", "0 1 3", "", "1 2 3", "1 3"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
