package lowering

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/hostir/verify"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// exchangeForm is a set of fields of a point-to-point schedule.
type exchangeForm struct {
	localShard, lead, steps, local string
	gemms                          func(d int64) int64
	sums                           string // value of all.fuse; empty: the default
}

var exchangeForms = []exchangeForm{
	{"in-place", "none", "rotation", "first", slicewise, ""},
	{"copied", "none", "reverse", "last", slicewise, ""},
	{"in-place", "all", "rotation", "first", slicewise, ""},
	{"copied", "all", "reverse", "first", subChunks, ""},
	{"in-place", "all", "reverse", "last", subChunks, ""},
	{"in-place", "none", "rotation", "first", subChunks, ""},
	{"in-place", "all", "rotation", "first", together, ""},
	{"in-place", "none", "reverse", "last", several, ""},
	{"in-place", "all", "reverse", "last", several, ""},
	{"in-place", "none", "rotation", "first", slicewise, "peer-read"},
	{"copied", "all", "reverse", "last", subChunks, "peer-read"},
	{"in-place", "all", "rotation", "first", together, "peer-read"},
	{"in-place", "all", "reverse", "last", several, "peer-read"},
	{"in-place", "none", "ring", "first", slicewise, ""},
	{"copied", "none", "ring", "first", subChunks, ""},
	{"in-place", "all", "ring", "first", subChunks, ""},
	{"in-place", "none", "ring", "first", slicewise, "gemm"},
	{"copied", "all", "ring", "first", subChunks, "gemm"},
	{"in-place", "all", "ring", "first", slicewise, "gemm"},
}

// choices returns the schedule fields of the form on d ranks.
func (f exchangeForm) choices(d int64) string {
	source := fmt.Sprintf("pipeline p2p, local_shard %s, all.lead %s, all.steps %s, all.local %s, %s", f.localShard, f.lead, f.steps, f.local,
		gemms(f.gemms(d), d))
	if f.sums != "" {
		source += ", all.fuse " + f.sums
	}
	return source
}

// appliesTo reports whether an example spec can have the form with a transport: peer-read needs a sum, and IPC-get.
func (f exchangeForm) appliesTo(spec, transport string) bool {
	return f.sums != "peer-read" || transport == "ipc-get" && sums(spec)
}

// specs returns the number of example specs that can have the form with some transport. They are the last ones in the
// result of exchangeSpecs.
func (f exchangeForm) specs() int {
	if f.sums == "peer-read" {
		return 2
	}
	return 5
}

// exchangeSpecs returns the example specs of point-to-point pipelines, whose names end in _p2p. It omits swiglu_p2p,
// whose loop exchanges twice: its gathers of one call imply waits of the previous call.
func exchangeSpecs(t *testing.T) []specText {
	t.Helper()
	list := slices.DeleteFunc(specTexts(t), func(s specText) bool { return !strings.HasSuffix(s.name, "_p2p") || s.name == "swiglu_p2p" })
	if len(list) != 5 {
		t.Fatalf("%d example specs are point-to-point pipelines, not 5", len(list))
	}
	return list
}

// sums reports whether the ranks of one of exchangeSpecs exchange partial sums.
func sums(spec string) bool { return spec == "matmul_rs_p2p" || spec == "matmul_ar_p2p" }

func slicewise(int64) int64   { return 0 }
func subChunks(d int64) int64 { return 2 * d }
func together(int64) int64    { return 1 }

// several returns the largest number of GEMMs below d that each compute the same number of the d slices; 1 if there is
// none.
func several(d int64) int64 {
	for n := d - 1; n > 1; n-- {
		if d%n == 0 {
			return n
		}
	}
	return 1
}

// pointToPointVariants visits the example specs of point-to-point pipelines with every transport and every form that
// goes with it. Without full, it visits a selection of these combinations.
func pointToPointVariants(t *testing.T, d int64, visit func(t *testing.T, p *model.Pipeline)) {
	t.Helper()
	for i, s := range exchangeSpecs(t) {
		for _, transport := range transports {
			for n, form := range exchangeForms {
				if !form.appliesTo(s.name, transport) || !inTurn(i, form.specs(), n, len(transport), int(d)) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", s.name, transport, form.choices(d)), func(t *testing.T) {
					p := s.onMesh(t, "{x: D}", sizes(d, 1))
					choose(&p.Schedule, form.choices(d), "all.via "+transport)
					fit(p)
					visit(t, p)
				})
			}
		}
	}
}

// onSomeRanks moves a pipeline with one mesh to the given ranks of a larger world, whose size is world.
func onSomeRanks(p *model.Pipeline, world int64, ranks []int) {
	part := p.Meshes[0]
	part.Name, part.Ranks = "part", ranks
	all := &domain.Mesh{Name: "world", Axes: []domain.MeshAxis{{Name: "x", Extent: domain.Extent{Size: world}}}}
	for r := range int(world) {
		all.Ranks = append(all.Ranks, r)
	}
	p.Meshes = []*domain.Mesh{all, part}
}

// teamPlaces lists ways to place three ranks along a mesh axis: in a mesh of two axes, or as given ranks of a larger
// world.
var teamPlaces = map[string]struct {
	mesh  string
	world int64
	ranks []int
}{
	"rows":    {mesh: "{y: 2, x: D}"},
	"columns": {mesh: "{x: D, y: 2}"},
	"some":    {mesh: "{x: D}", world: 6, ranks: []int{1, 3, 5}},
	"any":     {mesh: "{x: D}", world: 5, ranks: []int{4, 0, 1}},
}

// onTeams visits the example specs of point-to-point pipelines on each of teamPlaces, with every transport and every
// form that goes with it. Without full, it visits a selection of these combinations.
func onTeams(t *testing.T, visit func(t *testing.T, p *model.Pipeline)) {
	t.Helper()
	for i, s := range exchangeSpecs(t) {
		for where, place := range teamPlaces {
			for _, transport := range transports {
				for n, form := range exchangeForms {
					if !form.appliesTo(s.name, transport) || !inTurn(i, form.specs(), n, len(transport), len(where)) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%d", s.name, where, transport, n), func(t *testing.T) {
						p := s.onMesh(t, place.mesh, sizes(3, 1))
						if place.ranks != nil {
							onSomeRanks(p, place.world, place.ranks)
						}
						choose(&p.Schedule, form.choices(3), "all.via "+transport, fmt.Sprint("streams ", n%4))
						fit(p)
						visit(t, p)
					})
				}
			}
		}
	}
}

func TestPointToPointOnTeamsKeepsTheResult(t *testing.T) {
	t.Parallel()
	onTeams(t, func(t *testing.T, p *model.Pipeline) {
		t.Helper()
		choose(&p.Schedule, "all.signals batched, all.copy fused")
		fit(p)
		keepsResult(t, p, 6)
	})
}

// TestAxisBetweenNodes checks that transfers along the mesh axis between nodes (nodes: y) use NCCL, and that transfers
// along the other axis use shared memory.
func TestAxisBetweenNodes(t *testing.T) {
	spec := specText{"both", `hirgen: 1
name: both
params: {D: 3}
mesh: {x: D}
tensors: {A: [DIDy, DIDx, 4], B: [DIDy, Stream(D), 4], C: [Stream(2), D, 4]}
ops:
  - B = set(A)
  - C = set(B)
schedule: {}
`}
	for _, mesh := range []string{"{y: 2, x: D}", "{x: D, y: 2}"} {
		for _, steps := range []string{"rotation", "ring"} {
			for _, transport := range []string{"ipc-get", "ipc-put"} {
				t.Run(mesh+"/"+steps+"/"+transport, func(t *testing.T) {
					p := spec.onMesh(t, mesh, nil)
					choose(&p.Schedule, "pipeline p2p, nodes y, all.steps "+steps, "all.via "+transport)
					printed := text.Print(keepsResult(t, p, 12))
					shares := strings.Count(printed, "ShareMemHandles(mesh world axis x, receive")
					if all := strings.Count(printed, "ShareMemHandles("); shares != 1 || all != 1 || strings.Count(printed, ", NCCL)") != 2 {
						t.Errorf("one pipeline shares memory along x, the other one sends and receives:\n%s", printed)
					}
				})
			}
		}
	}
}

// TestPeersOfAnotherTeam adds 1 to the peer of every transfer, so that some ranks exchange with ranks of another team.
// If the program shares memory, the verifier has to report it. In any case, the interpreter has to report an error or a
// wrong result.
func TestPeersOfAnotherTeam(t *testing.T) {
	onTeams(t, func(t *testing.T, p *model.Pipeline) {
		t.Helper()
		o := lowertest.NewOracle(t, p, 3)
		program, err := Host(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		world := expr.Int(int64(p.Meshes[0].Size()))
		shares := false
		for s := range hostir.All(program.Body) {
			switch s := s.(type) {
			case *hostir.P2PCommunication:
				s.Peer = expr.Op("%", expr.Op("+", s.Peer, expr.Int(1)), world)
			case *hostir.ShareMemHandles:
				shares = true
			}
		}
		err = verify.Program(program)
		if noticed := err != nil && strings.Contains(err.Error(), "which is not along axis"); noticed != shares {
			t.Errorf("Verify says %v", err)
		}
		if o.Check(program, 1) == nil {
			t.Errorf("nothing goes wrong\n%s", text.Print(program))
		}
	})
}

func TestPointToPointKeepsTheResult(t *testing.T) {
	t.Parallel()
	for _, d := range []int64{1, 2, 3, 4} {
		for n, form := range forms {
			if !inTurn(n, len(forms), int(d)) {
				continue
			}
			t.Run(fmt.Sprintf("D=%d/%s", d, form), func(t *testing.T) {
				pointToPointVariants(t, d, func(t *testing.T, p *model.Pipeline) {
					t.Helper()
					choose(&p.Schedule, "initial_waits "+form[0], "joins "+form[1], fmt.Sprint("streams ", n))
					keepsResult(t, p, 12)
				})
			})
		}
	}
}

// TestPointToPointNeedsItsWaits removes each Wait and each Synchronize that no other statement implies, one at a time.
// Without the removed statement, some order of execution has to fail.
func TestPointToPointNeedsItsWaits(t *testing.T) {
	pointToPointVariants(t, 4, func(t *testing.T, p *model.Pipeline) {
		t.Helper()
		if p.Schedule.Of("", schedule.Split) != "1" || p.Schedule.Of("", schedule.Block) != "" {
			return // it has the same waits as the schedule with one GEMM for each shard
		}
		choose(&p.Schedule, "preset reference, streams 2")
		needsItsWaits(t, p, func(_ int, line string) bool {
			// If a rank has gathered its peers' sums, the peers have read its partial sums.
			implied := p.Name == "matmul_ar_p2p" && strings.HasPrefix(line, "Wait(send")
			// A single kernel of a peer reads a partial sum and writes the sum; see TestWrittenSumsNeedTheirWaits.
			implied = implied || p.Name == "matmul_ar_p2p" && p.Schedule.Of("", schedule.Fuse) == schedule.PeerRead &&
				strings.HasPrefix(line, "Wait(receive")
			// A compute stream needs no join if other statements wait for all its work, and no fork if its own work
			// waits.
			return implied || p.Schedule.Of("", schedule.Lead) == schedule.All && strings.HasPrefix(line, "Synchronize(")
		})
	})
}
