package align_test

import (
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/align"
	"github.com/hirgen/hirgen/calls/text"
)

// program has a Memcpy in a loop of four iterations on four ranks. TestOf replaces its operand AT by the pointers that
// it tests.
const program = `calls p from "spec.yaml"
Param(name D, spec "D", value 4)
Param(name K, spec "K", value 12)
Param(name N, spec "N", value 64)
Constant(name kRow, value K * 2)
Mesh(name mesh_world, label "world", axes "x of D", extents [D, 1])
Argument(name A, tensor "A", type bf16, used, elements 4096)
Argument(name F, tensor "F", type fp32, used, elements 4096)
Buffer(name P_, type bf16, elements 4096, where "w")
Buffer(name Q_, in P_, offset 256, type fp32, elements 16, where "w")
Buffer(name R_, in P_, offset 24, type bf16, elements 16, where "w")
Buffer(name S_, in A, type bf16, elements 16, where "w")
Share(name A_ipc, shape kA, memory A, elements 4096, type bf16, transfers D, label kA)

Let(name rank)
Let(name peer, value (D + rank - 1) % D)
Let(name x, mesh mesh_world)
Let(name one, mesh mesh_world, axis 1)
Let(name even, value 2 * x)
Declare(name named, type bf16, value A + 4)
Declare(name either, type bf16, value A + 16, cond rank, else A + 2)
For(var s, count D):
  For(var only, first 3, count 4):
    Memcpy(out P_, in AT, elements 1, type bf16, on caller)
`

// TestOf compares the alignments of pointers, over all ranks and iterations, with the wanted bytes.
func TestOf(t *testing.T) {
	for at, want := range map[string]int64{
		"A": 16, "F": 16, "P_": 256, "Q_": 256, "R_": 8, "S_": 16, "A_ipc[peer]": 16, "A_ipc[peer] + 3": 2,
		"A + 1": 2, "F + 1": 4, "A + 4": 8, "A + 8": 16, "P_ + 64": 128, "P_ + 3 * 64": 128, "A + 0": 16, "R_ + 8": 8, "Q_ + 64": 256,
		"A + K": 8, "A + kRow": 16, "A + N": 16, "P_ + N * N": 256, "P_ + (N + K)": 8, "P_ + (N - K)": 8,
		"P_ + s": 2, "P_ + s * K": 8, "P_ + s * N": 128, "P_ + s * kRow + K": 8, "P_ + rank * N + s * K": 8, "P_ + 2 * s * N": 256,
		"P_ + (D + rank - s) % D * kRow": 16, "P_ + (rank * N) % (4 * N)": 128, "P_ + (s ^ 1) * N": 128, "P_ + s * N / 2": 64,
		"P_ + s * N / K": 32, "P_ + s * 2 / 4": 2, "P_ + N / D": 32, "P_ + s * N / s": 2, "P_ + (s < 2) * N": 128,
		"P_ + only": 2, "P_ + only * 8": 16, "P_ + (only + 1) * 8": 64, "P_ + x * N": 128, "P_ + even * N": 256, "P_ + peer * N": 128,
		"P_ + one": 2,
		"named":    8, "named + 4": 16, "named + 2": 4, "either": 4, "nothing": 1,
	} {
		p, err := text.Parse("spec.yaml", program)
		if err != nil {
			t.Fatal(err)
		}
		read, err := text.Parse("spec.yaml", "calls p from \"spec.yaml\"\n\nMemcpy(out P_, in "+at+", elements 1, type bf16, on caller)\n")
		if err != nil {
			t.Fatal(at, err)
		}
		align.Visit(p, func(s calls.Stmt, scope *align.Scope) {
			if m, ok := s.(*calls.Memcpy); ok {
				m.In = read.Body[0].(*calls.Memcpy).In
				if got := scope.Of(m.In); got != want {
					t.Errorf("%s is aligned to %d bytes, not %d", at, got, want)
				}
			}
		})
	}
}

// TestOneRank checks that the variable rank has a known value if there is only one rank.
func TestOneRank(t *testing.T) {
	p, err := text.Parse("spec.yaml", `calls p from "spec.yaml"
Mesh(name mesh_world, label "world", axes "x of 1", extents [1])
Argument(name A, tensor "A", type bf16, used, elements 64)

Let(name rank)
Memcpy(out A, in A + rank * 3, elements 1, type bf16, on caller)
`)
	if err != nil {
		t.Fatal(err)
	}
	align.Visit(p, func(s calls.Stmt, scope *align.Scope) {
		if m, ok := s.(*calls.Memcpy); ok && scope.Of(m.In) != align.Argument {
			t.Errorf("aligned to %d bytes", scope.Of(m.In))
		}
	})
}
