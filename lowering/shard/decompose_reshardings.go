package shard

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// DecomposeReshardings decomposes movements of data until each one is a single communication. Such a communication either
// changes what one mesh axis splits, or moves a tensor from one mesh to another.
//
//   - On one mesh, reductions come first, then scatters, then gathers, innermost axis first, then moves to another axis.
//     Gathers that a pipeline may broadcast slice by slice come last.
//   - Between meshes, a whole tensor is broadcast, and a split tensor goes rank by rank. One split axis is gathered on
//     one rank of the operand's mesh, or scattered by one rank of the result's mesh. All other movements go through
//     whole tensors.
//
// Requires: a Set or Reduce does nothing but move data, or is local.
// Establishes: a movement on one mesh has one shift. A movement between two meshes has no shift, or one shift in which a
// single rank gathers, reduces or scatters. Each movement has its Need.
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
	noteNeeds(p)
	return nil
}

type decomposer struct {
	program *hostir.Program
	names   *hostir.Namer
}

// steps returns statements that together have the effect of s, each with at most one communication, through
// intermediate tensors.
func (d *decomposer) steps(s hostir.Stmt) []hostir.Stmt {
	m := Describe(s)
	via := d.via(m)
	if via == nil {
		return []hostir.Stmt{s}
	}
	hostir.ReplaceDef(s, m.Out, via)
	rest := &hostir.Set{Info: hostir.InfoFrom(s, "the next step: one communication changes one mesh axis"), Out: m.Out, In: via}
	return append(d.steps(s), d.steps(rest)...)
}

// via returns the tensor to go through first, or nil if one communication is enough.
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

// movesToPipeline reports whether a mesh axis splits the axis of the operand that becomes the Stream axis, and another
// axis of the result. Then no slice can move by itself, so the whole tensor moves before the pipeline.
func (m Movement) movesToPipeline() bool {
	return slices.ContainsFunc(m.Shifts, func(sh Shift) bool { return sh.From != NoAxis && sh.To != NoAxis && m.streams(sh.From) })
}

// unstreamed makes the Stream axes of t Serial, and returns t.
func unstreamed(t *hostir.Tensor) *hostir.Tensor {
	for i := range t.Axes {
		if t.Axes[i].Kind == domain.Stream {
			t.Axes[i].Kind = domain.Serial
		}
	}
	return t
}

// IsGather reports whether the operand's only split axis becomes whole or is reduced, and the operand's mesh is one team.
func (m Movement) IsGather() bool {
	return len(m.Shifts) == 1 && m.Shifts[0].To == NoAxis && !IsSplit(m.Out) && len(m.In.Mesh.Axes) == 1
}

// IsScatter reports whether the movement splits one axis of a whole operand, and the result's mesh is one team.
func (m Movement) IsScatter() bool {
	return len(m.Shifts) == 1 && m.Shifts[0].From == NoAxis && !IsSplit(m.In) && len(m.Out.Mesh.Axes) == 1
}

// onRoot returns the result on the one rank of the operand's mesh that gathers or reduces, or nil if the result is on that
// rank alone.
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

// whole returns the movement that makes all axes of the operand whole on its mesh.
func (m Movement) whole() Movement {
	m.Shifts = nil
	for i, a := range m.In.Axes {
		if a.Kind == domain.Device {
			m.Shifts = append(m.Shifts, Shift{Mesh: a.Mesh, From: i, To: NoAxis})
		}
	}
	return m
}

// first returns the shift to begin with. The shift of a Reduce comes first. Next come scatters along an axis that no
// mesh axis splits, then gathers, innermost axis first, then moves to an axis that no mesh axis splits. Last come
// gathers that a pipeline may broadcast slice by slice. If the only shifts left exchange split axes with each other,
// first returns one of them as a gather.
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
	scatters // early, so that later steps gather less
	gathers
	moves
	pipelined
	blocked // until another mesh axis no longer splits the target axis
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

// splits maps axes of the result to the mesh axes that split them if nothing moves.
func (m Movement) splits() map[int]string {
	splits := map[int]string{}
	for i, a := range m.In.Axes {
		if j := m.Row[i]; j != hostir.Unmapped && a.Kind == domain.Device {
			splits[j] = a.Mesh
		}
	}
	return splits
}

// after returns the splits after one shift. The shift of a Reduce also scatters the result in the same step, if no mesh
// axis splits the target axis.
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

// tensor declares a Temp like the result of m on a mesh, with the given splits.
func (d *decomposer) tensor(m Movement, mesh *domain.Mesh, splits map[int]string) *hostir.Tensor {
	t := d.names.Declare(m.Out, "_part")
	t.Mesh, t.Layout = mesh, hostir.Layout(t)
	for j := range t.Axes {
		a := &t.Axes[j]
		if meshAxis, split := splits[j]; split {
			a.Place(domain.Device, meshAxis)
		} else if a.Kind == domain.Device {
			a.Place(domain.Serial, "")
		}
	}
	return t
}
