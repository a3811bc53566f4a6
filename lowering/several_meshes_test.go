package lowering

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/lowering/place"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
)

// stages makes random specs of several meshes, of which only inputs, and tensors that move from mesh to mesh, are declared.
type stages struct {
	*rand.Rand
	tensors, ops strings.Builder
	made         map[string][]string // the tensors of each mesh; all have the same shape
	count        int
}

// name returns a new name.
func (s *stages) name() string {
	s.count++
	return fmt.Sprint("t", s.count)
}

// declare adds a matrix on a mesh, whole or split along an axis, and returns it without the axis of the ranks.
func (s *stages) declare(mesh string) (whole string) {
	name := s.name()
	axes := []string{"N, N", "DIDx, N/D, N", "N, DIDx, N/D"}[s.IntN(3)]
	if mesh == "world" {
		axes = strings.ReplaceAll(axes, "N/D", "N/(2*D)")
	}
	fmt.Fprintf(&s.tensors, "  %s: {axes: [%s], mesh: %s}\n", name, axes, mesh)
	if axes == "N, N" {
		return name
	}
	whole = s.name()
	fmt.Fprintf(&s.ops, "  - %s = reshape(%s, shape=[N, N])\n", whole, name)
	return whole
}

// any returns a tensor of a mesh.
func (s *stages) any(mesh string) string { return s.made[mesh][s.IntN(len(s.made[mesh]))] }

// spec returns a spec of two to four random operations on each of three meshes, one after the other. Meshes can share ranks, or be equal.
func (s *stages) spec(d int) string {
	s.tensors.Reset()
	s.ops.Reset()
	s.made = map[string][]string{}
	second := []string{fmt.Sprintf("[%d..%d]", d, 2*d-1), fmt.Sprintf("[0..%d]", d-1), fmt.Sprintf("[1..%d]", d)}[s.IntN(3)]
	names := []string{"world", "first", "second"}
	s.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, mesh := range names {
		input, read := s.declare(mesh), s.name()
		fmt.Fprintf(&s.ops, "  - %s = relu(%s)\n", read, input)
		s.made[mesh] = []string{input, read}
		if i > 0 { // from the mesh before
			from := s.any(names[i-1])
			if s.IntN(2) == 0 {
				to := s.name()
				fmt.Fprintf(&s.tensors, "  %s: {axes: [N, N], mesh: %s}\n", to, mesh)
				fmt.Fprintf(&s.ops, "  - %s = set(%s)\n", to, from)
				s.made[mesh] = append(s.made[mesh], to)
			} else { // the result of operands on two meshes is on the mesh of the first
				to := s.name()
				fmt.Fprintf(&s.ops, "  - %s = add(%s, %s)\n", to, s.any(mesh), from)
				s.made[mesh] = append(s.made[mesh], to)
			}
		}
		for range 2 + s.IntN(3) {
			out := s.name()
			switch s.IntN(4) {
			case 0, 1:
				weight := s.declare(mesh)
				fmt.Fprintf(&s.ops, "  - %s = matmul(%s, %s)\n", out, s.any(mesh), weight)
			case 2:
				fmt.Fprintf(&s.ops, "  - %s = add(%s, %s)\n", out, s.any(mesh), s.any(mesh))
			case 3:
				fmt.Fprintf(&s.ops, "  - %s = relu(%s)\n", out, s.any(mesh))
			}
			s.made[mesh] = append(s.made[mesh], out)
		}
	}
	return fmt.Sprintf("hirgen: 1\nname: stages\nparams: {D: %d, N: 24}\nmesh: {x: 2*D}\nmeshes:\n  first: {axes: {x: D}, ranks: [0..D-1]}\n"+
		"  second: {axes: {x: D}, ranks: %s}\ndtype: fp32\nschedule: none\ntensors:\n%sops:\n%s", d, second, &s.tensors, &s.ops)
}

// TestPlacementsOfSeveralMeshes derives placements for random specs of several meshes, on 2, 3 and 4 ranks of each, faster or not. It
// checks the results then and after all passes. At least half of the specs must have open tensors on some mesh.
func TestPlacementsOfSeveralMeshes(t *testing.T) {
	t.Parallel()
	m, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	random, changed := &stages{Rand: rand.New(rand.NewPCG(1, 2))}, 0
	const specs = 100
	for n := range specs {
		spec := random.spec(2 + n%3)
		p, err := model.Load("spec.yaml", []byte(spec), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, spec)
		}
		program, err := Build(p)
		if err != nil {
			t.Fatal(err)
		}
		before, oracle := text.Print(program), lowertest.NewOracle(t, p, uint64(n))
		place.AssignPlacements(program, m)
		if placed := text.Print(program); placed != before {
			changed++
			err = oracle.Check(program, 1)
		}
		if err == nil {
			err = Run(program, Passes, Options{Verify: true, Disable: []string{schedules.Placing}})
		}
		if err == nil {
			err = oracle.Check(program, uint64(n))
		}
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, spec, text.Print(program))
		}
	}
	if changed < specs/2 {
		t.Errorf("%d specs get other placements", changed)
	}
}
