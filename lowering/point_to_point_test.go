package lowering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// exchangeForms are choices of a point-to-point schedule that change the program.
var exchangeForms = []struct {
	own, transfers, order, ownStep string
	chunks                         func(d int64) int64
	pipeline                       string
}{
	{"in-place", "inline", "rotation", "first", slicewise, "p2p"},
	{"copied", "inline", "reverse", "last", slicewise, "p2p"},
	{"in-place", "ahead", "rotation", "first", slicewise, "p2p"},
	{"copied", "ahead", "reverse", "first", pieces, "p2p"},
	{"in-place", "ahead", "reverse", "last", pieces, "p2p"},
	{"in-place", "inline", "rotation", "first", pieces, "p2p"},
	{"in-place", "ahead", "rotation", "first", together, "p2p"},
	{"in-place", "inline", "reverse", "last", several, "p2p"},
	{"in-place", "ahead", "reverse", "last", several, "p2p"},
	{"in-place", "inline", "rotation", "first", slicewise, "ring"},
	{"copied", "inline", "reverse", "first", pieces, "ring"},
	{"in-place", "ahead", "rotation", "first", pieces, "ring"},
}

func slicewise(int64) int64 { return 0 }
func pieces(d int64) int64  { return 2 * d }
func together(int64) int64  { return 1 }

// several is the largest number of products, less than d, of which each takes as many slices.
func several(d int64) int64 {
	for n := d - 1; n > 1; n-- {
		if d%n == 0 {
			return n
		}
	}
	return 1
}

// pointToPointVariants visits the example specs of point-to-point pipelines with every
// transport in every form.
func pointToPointVariants(t *testing.T, d int64, visit func(t *testing.T, p *model.Pipeline)) {
	t.Helper()
	for _, s := range specTexts(t) {
		if !strings.HasSuffix(s.name, "_p2p") {
			continue
		}
		for transport := range transports {
			for _, form := range exchangeForms {
				chunks := int(form.chunks(d))
				name := fmt.Sprintf("%s/%s/%s/%s/%s/%s/%s/%d", s.name, form.pipeline, transport, form.own, form.transfers, form.order, form.ownStep, chunks)
				t.Run(name, func(t *testing.T) {
					p := s.onMesh(t, "{x: D}", sizes(d, 1))
					p.Schedule.Pipeline, p.Schedule.Transport, p.Schedule.Own = form.pipeline, transport, form.own
					p.Schedule.Transfers, p.Schedule.Order, p.Schedule.OwnStep = form.transfers, form.order, form.ownStep
					p.Schedule.Chunks = chunks
					visit(t, p)
				})
			}
		}
	}
}

func TestPointToPointKeepsTheResult(t *testing.T) {
	for _, d := range []int64{1, 2, 3, 4} {
		for n, form := range forms {
			t.Run(fmt.Sprintf("D=%d/%s", d, form), func(t *testing.T) {
				pointToPointVariants(t, d, func(t *testing.T, p *model.Pipeline) {
					t.Helper()
					p.Schedule.Sync, p.Schedule.Joins, p.Schedule.Streams = form[0], form[1], n
					program, err := Lower(p, Options{Verify: true})
					if err != nil {
						t.Fatal(err)
					}
					o := newOracle(t, p, 3)
					for seed := range uint64(12) {
						if err := o.check(program, seed); err != nil {
							t.Fatalf("%v\n%s", err, hostir.Print(program))
						}
					}
				})
			})
		}
	}
}

// TestPointToPointNeedsItsWaits leaves out each Wait and each Synchronize in turn: some
// order then gives wrong data.
func TestPointToPointNeedsItsWaits(t *testing.T) {
	pointToPointVariants(t, 4, func(t *testing.T, p *model.Pipeline) {
		t.Helper()
		if p.Schedule.Chunks != 0 {
			return // it has the waits of the same schedule without chunks
		}
		p.Schedule.Streams = 2
		o := newOracle(t, p, 5)
		program, err := Lower(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range orders(program) {
			mutant, line := without(t, program, i)
			wrong := false
			for seed := range uint64(200) {
				if wrong = o.check(mutant, seed) != nil; wrong {
					break
				}
			}
			// A rank that has gathered its peers' sums knows that they have read its parts.
			implied := p.Name == "matmul_ar_p2p" && strings.HasPrefix(line, "Wait(send")
			// A worker all of whose work is waited for needs no join, nor a fork if it waits itself.
			implied = implied || p.Schedule.Transfers == "ahead" && strings.HasPrefix(line, "Synchronize(")
			if !wrong && !implied {
				t.Errorf("without %s nothing goes wrong\n%s", line, hostir.Print(mutant))
			}
		}
	})
}

// TestRing compares places and peers with the mesh's own coordinates.
func TestRing(t *testing.T) {
	for _, extents := range [][]int64{{4}, {2, 3}, {3, 2}, {2, 3, 4}} {
		mesh := &domain.Mesh{Name: "world"}
		ranks := 1
		for i, e := range extents {
			mesh.Axes = append(mesh.Axes, domain.MeshAxis{Name: "xyz"[i : i+1], Extent: domain.Extent{Size: e}})
			ranks *= int(e)
		}
		for r := range ranks {
			mesh.Ranks = append(mesh.Ranks, r)
		}
		for _, axis := range mesh.Axes {
			for rank := range ranks {
				team := mesh.Team(rank, axis.Name)
				place := mesh.Coordinate(rank, axis.Name)
				for s := range team {
					if got := evalRing(t, mesh, axis.Name, rank, s, (*ring).after); got != team[(place+s)%len(team)] {
						t.Errorf("mesh %v, axis %s, rank %d: %d places further on is rank %d, not %d", extents, axis.Name, rank, s, team[(place+s)%len(team)], got)
					}
					back := (place + len(team) - s) % len(team)
					if got := evalRing(t, mesh, axis.Name, rank, s, (*ring).before); got != team[back] {
						t.Errorf("mesh %v, axis %s, rank %d: %d places back is rank %d, not %d", extents, axis.Name, rank, s, team[back], got)
					}
				}
			}
		}
	}
	if _, ok := newRing(&domain.Mesh{Ranks: []int{1, 0}}, "x"); ok {
		t.Error("a mesh of ranks 1, 0 counts places by ranks")
	}
}

func evalRing(t *testing.T, mesh *domain.Mesh, axis string, rank, s int, place func(*ring, steps) expr.Expr) int {
	t.Helper()
	r, ok := newRing(mesh, axis)
	if !ok {
		t.Fatal("the mesh numbers its ranks otherwise")
	}
	value, err := expr.Eval(r.rank(place(r, steps{far: expr.Var("s")})), func(name string) (int64, bool) {
		return map[string]int64{"rank": int64(rank), "s": int64(s)}[name], true
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(value)
}
