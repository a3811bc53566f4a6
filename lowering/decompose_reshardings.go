package lowering

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// DecomposeReshardings takes movements of data apart until each is one communication:
// it changes what one mesh axis splits, or goes from one mesh to another.
//
//   - On one mesh, axes are gathered first, innermost first, then moved, then scattered.
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
	if isLowered(p.Body) {
		return nil
	}
	d := &decomposer{program: p, names: newNamer(p)}
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		if !reshards(s) {
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
	names   *namer
}

// steps gives the statements that do what s does, through tensors in between.
func (d *decomposer) steps(s hostir.Stmt) []hostir.Stmt {
	m := describe(s)
	via := d.via(m)
	if via == nil {
		return []hostir.Stmt{s}
	}
	hostir.SubstituteDefs(s, func(*hostir.Tensor) *hostir.Tensor { return via })
	rest := &hostir.Set{Info: info(s, "the next step: one communication changes one mesh axis"), Out: m.out, In: via}
	return append(d.steps(s), d.steps(rest)...)
}

// via is the tensor to go through first; nil when one communication does it all.
func (d *decomposer) via(m movement) *hostir.Tensor {
	switch {
	case sameMesh(m.in, m.out) && len(m.shifts) > 1:
		return d.tensor(m, m.in.Mesh, m.after(m.first()))
	case sameMesh(m.in, m.out) && m.movesToPipeline():
		return unstreamed(d.tensor(m, m.in.Mesh, m.after(m.first())))
	case sameMesh(m.in, m.out):
		return nil
	case m.reduce != "" && (len(m.in.Mesh.Axes) > 1 || isSplit(m.out)):
		return d.tensor(m, m.in.Mesh, m.splits())
	case m.reduce != "" || m.isGather():
		return d.onRoot(m)
	case isSplit(m.in) && (len(m.shifts) > 0 || !sameAxes(m.in.Mesh, m.out.Mesh)):
		return d.tensor(m, m.in.Mesh, m.after(m.whole().first()))
	case len(m.shifts) == 0:
		return nil
	case !m.isScatter():
		return d.tensor(m, m.out.Mesh, nil)
	}
	if _, ok := commonRank(m.out.Mesh, m.in.Mesh); ok {
		return nil
	}
	return d.tensor(m, meshOf(d.program, d.names, m.out.Mesh.Ranks[:1]), nil)
}

// movesToPipeline reports whether what was split along the result's Stream axis is split along another
// one afterwards: no slice of it can move by itself, so all of it does before the pipeline.
func (m movement) movesToPipeline() bool {
	return slices.ContainsFunc(m.shifts, func(sh shift) bool { return sh.from != none && sh.to != none && m.streams(sh.from) })
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

// isGather reports whether the operand's only split axis becomes whole, and its mesh is
// one team.
func (m movement) isGather() bool {
	return len(m.shifts) == 1 && m.shifts[0].to == none && !isSplit(m.out) && len(m.in.Mesh.Axes) == 1
}

// isScatter reports whether the result has one split axis, and its mesh is one team.
func (m movement) isScatter() bool {
	return len(m.shifts) == 1 && m.shifts[0].from == none && !isSplit(m.in) && len(m.out.Mesh.Axes) == 1
}

// onRoot is the result on the one rank of the operand's mesh that gathers or reduces;
// nil when the result is there and nowhere else.
func (d *decomposer) onRoot(m movement) *hostir.Tensor {
	root, ok := commonRank(m.out.Mesh, m.in.Mesh)
	if !ok {
		root = m.in.Mesh.Ranks[0]
	}
	if ok && m.out.Mesh.Size() == 1 {
		return nil
	}
	return d.tensor(m, meshOf(d.program, d.names, []int{root}), nil)
}

// whole is the movement that makes all of the operand whole where it is.
func (m movement) whole() movement {
	m.shifts = nil
	for i, a := range m.in.Axes {
		if a.Kind == domain.Device {
			m.shifts = append(m.shifts, shift{mesh: a.Mesh, from: i, to: none})
		}
	}
	return m
}

// first is the shift to begin with: what a Reduce folds, then what is gathered, innermost
// first, what moves to a free axis, what is scattered, and last what a pipeline may
// broadcast slice by slice. Where axes change places, one has to be gathered.
func (m movement) first() shift {
	least := slices.MinFunc(m.shifts, func(a, b shift) int {
		return cmp.Or(cmp.Compare(m.rank(a), m.rank(b)), cmp.Compare(b.from, a.from))
	})
	if m.rank(least) == blocked {
		least.to = none
	}
	return least
}

const (
	folds = iota
	gathers
	moves
	scatters
	pipelined
	blocked // until another mesh axis has left the axis that it goes to
)

func (m movement) rank(sh shift) int {
	free := sh.to == none
	if !free {
		i := slices.Index(m.row, sh.to)
		free = i < 0 || m.in.Axes[i].Kind != domain.Device
	}
	switch {
	case sh.reduced:
		return folds
	case !free:
		return blocked
	case sh.to == none && m.streams(sh.from):
		return pipelined
	case sh.to == none:
		return gathers
	case sh.from != none:
		return moves
	default:
		return scatters
	}
}

// splits says which mesh axes split which axes of the result if nothing moves.
func (m movement) splits() map[int]string {
	splits := map[int]string{}
	for i, a := range m.in.Axes {
		if j := m.row[i]; j != hostir.Unmapped && a.Kind == domain.Device {
			splits[j] = a.Mesh
		}
	}
	return splits
}

// after says the same after one shift. What a Reduce folds is scattered in the same
// step where its place is free.
func (m movement) after(sh shift) map[int]string {
	splits := m.splits()
	if sh.from != none {
		delete(splits, m.row[sh.from])
	}
	if _, taken := splits[sh.to]; sh.to != none && !taken {
		splits[sh.to] = sh.mesh
	}
	return splits
}

// tensor declares a Temp like the result of m on a mesh, split as splits says.
func (d *decomposer) tensor(m movement, mesh *domain.Mesh, splits map[int]string) *hostir.Tensor {
	t := &hostir.Tensor{
		Name: d.names.fresh(m.out.Name + "_part"), DType: m.out.DType, Axes: slices.Clone(m.out.Axes), Mesh: mesh,
		Role: hostir.Temp, Layout: slices.Clone(hostir.Layout(m.out)), Pos: m.out.Pos,
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
