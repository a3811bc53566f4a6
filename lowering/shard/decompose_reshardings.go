package shard

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// DecomposeReshardings takes movements of data apart until each is one communication:
// it changes what one mesh axis splits, or goes from one mesh to another.
//
//   - On one mesh, axes are scattered first, then gathered, innermost first, then moved.
//   - Between meshes, a whole tensor is broadcast, and a split one goes rank by rank. One
//     split axis is gathered on one rank of the operand's mesh, or scattered by one rank
//     of the result's. Everything else goes by way of whole tensors.
//
// Requires: a Set or Reduce does nothing but move data, or is local.
// Establishes: a movement has one shift on one mesh, or none between two, or one that a
// single rank gathers, reduces or scatters.
//
//	before: B = Set(A)                       A [DIDx(X), DIDy(Y), M], B [X, Y, M]
//	after:  B_part = Set(A); B = Set(B_part)       B_part [DIDx(X), Y, M]
func DecomposeReshardings(p *hostir.Program) error {
	if hostir.Allocates(p) {
		return nil
	}
	d := &decomposer{program: p, names: hostir.NewNamer(p)}
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		if !Reshards(s) {
			body = append(body, s)
			continue
		}
		body = append(body, d.steps(s)...)
	}
	p.Body = body
	return nil
}

type decomposer struct {
	program *hostir.Program
	names   *hostir.Namer
}

// steps gives the statements that do what s does, through tensors in between.
func (d *decomposer) steps(s hostir.Stmt) []hostir.Stmt {
	m := Describe(s)
	via := d.via(m)
	if via == nil {
		return []hostir.Stmt{s}
	}
	hostir.SubstituteDefs(s, func(*hostir.Tensor) *hostir.Tensor { return via })
	rest := &hostir.Set{Info: hostir.InfoFrom(s, "the next step: one communication changes one mesh axis"), Out: m.Out, In: via}
	return append(d.steps(s), d.steps(rest)...)
}

// via is the tensor to go through first; nil when one communication does it all.
func (d *decomposer) via(m Movement) *hostir.Tensor {
	switch {
	case SameMesh(m.In, m.Out) && len(m.Shifts) > 1:
		return d.tensor(m, m.In.Mesh, m.after(m.first()))
	case SameMesh(m.In, m.Out) && m.movesToPipeline():
		return unstreamed(d.tensor(m, m.In.Mesh, m.after(m.first())))
	case SameMesh(m.In, m.Out):
		return nil
	case m.Reduce != "" && (len(m.In.Mesh.Axes) > 1 || IsSplit(m.Out)):
		return d.tensor(m, m.In.Mesh, m.splits())
	case m.Reduce != "" || m.IsGather():
		return d.onRoot(m)
	case IsSplit(m.In) && (len(m.Shifts) > 0 || !SameAxes(m.In.Mesh, m.Out.Mesh)):
		return d.tensor(m, m.In.Mesh, m.after(m.whole().first()))
	case len(m.Shifts) == 0:
		return nil
	case !m.IsScatter():
		return d.tensor(m, m.Out.Mesh, nil)
	}
	if _, ok := CommonRank(m.Out.Mesh, m.In.Mesh); ok {
		return nil
	}
	return d.tensor(m, MeshOf(d.program, d.names, m.Out.Mesh.Ranks[:1]), nil)
}

// movesToPipeline reports whether what was split along the result's Stream axis is split along another
// one afterwards: no slice of it can move by itself, so all of it does before the pipeline.
func (m Movement) movesToPipeline() bool {
	return slices.ContainsFunc(m.Shifts, func(sh Shift) bool { return sh.From != NoAxis && sh.To != NoAxis && m.streams(sh.From) })
}

// unstreamed makes the Stream axes of t plain ones.
func unstreamed(t *hostir.Tensor) *hostir.Tensor {
	for i := range t.Axes {
		if t.Axes[i].Kind == domain.Stream {
			t.Axes[i].Kind = domain.Serial
		}
	}
	return t
}

// IsGather reports whether the operand's only split axis becomes whole, and its mesh is
// one team.
func (m Movement) IsGather() bool {
	return len(m.Shifts) == 1 && m.Shifts[0].To == NoAxis && !IsSplit(m.Out) && len(m.In.Mesh.Axes) == 1
}

// IsScatter reports whether the result has one split axis, and its mesh is one team.
func (m Movement) IsScatter() bool {
	return len(m.Shifts) == 1 && m.Shifts[0].From == NoAxis && !IsSplit(m.In) && len(m.Out.Mesh.Axes) == 1
}

// onRoot is the result on the one rank of the operand's mesh that gathers or reduces;
// nil when the result is there and nowhere else.
func (d *decomposer) onRoot(m Movement) *hostir.Tensor {
	root, ok := CommonRank(m.Out.Mesh, m.In.Mesh)
	if !ok {
		root = m.In.Mesh.Ranks[0]
	}
	if ok && m.Out.Mesh.Size() == 1 {
		return nil
	}
	return d.tensor(m, MeshOf(d.program, d.names, []int{root}), nil)
}

// whole is the movement that makes all of the operand whole where it is.
func (m Movement) whole() Movement {
	m.Shifts = nil
	for i, a := range m.In.Axes {
		if a.Kind == domain.Device {
			m.Shifts = append(m.Shifts, Shift{Mesh: a.Mesh, From: i, To: NoAxis})
		}
	}
	return m
}

// first is the shift to begin with: what a Reduce folds, then what is scattered along a free
// axis, what is gathered, innermost first, what moves to a free axis, and last what a
// pipeline may broadcast slice by slice. Where axes change places, one has to be gathered.
func (m Movement) first() Shift {
	least := slices.MinFunc(m.Shifts, func(a, b Shift) int {
		return cmp.Or(cmp.Compare(m.rank(a), m.rank(b)), cmp.Compare(b.From, a.From))
	})
	if m.rank(least) == blocked {
		least.To = NoAxis
	}
	return least
}

const (
	folds    = iota
	scatters // the less there is to gather
	gathers
	moves
	pipelined
	blocked // until another mesh axis has left the axis that it goes to
)

func (m Movement) rank(sh Shift) int {
	free := sh.To == NoAxis
	if !free {
		i := slices.Index(m.Row, sh.To)
		free = i < 0 || m.In.Axes[i].Kind != domain.Device
	}
	switch {
	case sh.Reduced:
		return folds
	case !free:
		return blocked
	case sh.To == NoAxis && m.streams(sh.From):
		return pipelined
	case sh.To == NoAxis:
		return gathers
	case sh.From != NoAxis:
		return moves
	default:
		return scatters
	}
}

// splits says which mesh axes split which axes of the result if nothing moves.
func (m Movement) splits() map[int]string {
	splits := map[int]string{}
	for i, a := range m.In.Axes {
		if j := m.Row[i]; j != hostir.Unmapped && a.Kind == domain.Device {
			splits[j] = a.Mesh
		}
	}
	return splits
}

// after says the same after one shift. What a Reduce folds is scattered in the same
// step where its place is free.
func (m Movement) after(sh Shift) map[int]string {
	splits := m.splits()
	if sh.From != NoAxis {
		delete(splits, m.Row[sh.From])
	}
	if _, taken := splits[sh.To]; sh.To != NoAxis && !taken {
		splits[sh.To] = sh.Mesh
	}
	return splits
}

// tensor declares a Temp like the result of m on a mesh, split as splits says.
func (d *decomposer) tensor(m Movement, mesh *domain.Mesh, splits map[int]string) *hostir.Tensor {
	t := &hostir.Tensor{
		Name: d.names.Fresh(m.Out.Name + "_part"), DType: m.Out.DType, Axes: slices.Clone(m.Out.Axes), Mesh: mesh,
		Role: hostir.Temp, Layout: slices.Clone(hostir.Layout(m.Out)), Pos: m.Out.Pos,
	}
	for j := range t.Axes {
		a := &t.Axes[j]
		if meshAxis, split := splits[j]; split {
			a.Kind, a.Mesh = domain.Device, meshAxis
		} else if a.Kind == domain.Device {
			a.Kind, a.Mesh = domain.Serial, ""
		}
	}
	d.program.Tensors = append(d.program.Tensors, t)
	return t
}
