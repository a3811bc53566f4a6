package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// result is what a statement on split rows makes: its result where the passes may say what axes that has, else a tensor
// in front of it.
func (r *rowSplitter) result(out *hostir.Tensor) *hostir.Tensor {
	if isOpen(out) {
		return out
	}
	t := r.tensor(out, "_rows", hostir.Temp)
	t.Inferred = true
	return t
}

// viewKey tells views of a tensor apart: by the axis that is split over a mesh axis, or gathered along it, or the place of the
// axis that is added.
type viewKey struct {
	t    *hostir.Tensor
	at   int
	mesh string
}

// view is a view of a tensor, which is made once: build gives it its axes, and appends the statement.
func (r *rowSplitter) view(key viewKey, suffix string, build func(*hostir.Tensor)) *hostir.Tensor {
	if r.views[key] == nil {
		v := r.tensor(key.t, suffix, viewRole(key.t))
		build(v)
		r.views[key] = v
	}
	return r.views[key]
}

// rows is t with two axes in the place of one, which it has already or not. Rows that ranks along another axis have are
// gathered: there is one for each of them, which cannot be cut.
func (r *rowSplitter) rows(info hostir.Info, t *hostir.Tensor, at split) *hostir.Tensor {
	if _, is := r.splits[t]; is {
		return t
	}
	if hostir.SplitOver(t.Axes[at.At]) != "" {
		t = r.view(viewKey{t, at.At, t.Axes[at.At].Mesh}, "_all", func(v *hostir.Tensor) {
			v.Role, v.Inferred = hostir.Temp, true
			v.Axes[at.At].Kind, v.Axes[at.At].Mesh = domain.Serial, ""
			gathered := info
			gathered.Note = "the rows of all ranks"
			r.program.Body = append(r.program.Body, &hostir.Set{Info: gathered, Out: v, In: t})
		})
	}
	return r.view(viewKey{t, at.At, at.By.Mesh}, "_rows", func(v *hostir.Tensor) {
		r.splitAxis(v, at)
		r.reshape(info, v, t)
	})
}

// whole is t, or its rows in one axis where they are in two.
func (r *rowSplitter) whole(info hostir.Info, t *hostir.Tensor) *hostir.Tensor {
	at, is := r.splits[t]
	if !is {
		return t
	}
	return r.view(viewKey{t: t, at: NoAxis}, "_whole", func(v *hostir.Tensor) {
		a := v.Axes[at.At]
		a.Kind, a.Mesh, a.Extent = domain.Serial, "", at.Was
		v.Axes = slices.Replace(v.Axes, at.At, at.At+2, a)
		v.Layout = hostir.DropAxis(v.Layout, at.At)
		r.reshape(info, v, t)
	})
}

// single is t with an axis of one element, which all parts share, behind those outside of the axis that is split.
func (r *rowSplitter) single(info hostir.Info, t *hostir.Tensor, row []int, at int) *hostir.Tensor {
	place := 0
	for i, j := range row {
		if j != hostir.Unmapped && j < at {
			place = i + 1
		}
	}
	return r.view(viewKey{t: t, at: place}, "_rows", func(v *hostir.Tensor) {
		v.Axes = slices.Insert(v.Axes, place, domain.Axis{Kind: domain.Broadcast, Extent: domain.Extent{Size: 1}})
		v.Layout = spread(v.Layout, place)
		r.program.Body = append(r.program.Body, &hostir.Broadcast{Info: info, Out: v, In: t, Axis: place})
	})
}

// splitAxis makes two axes of one.
func (r *rowSplitter) splitAxis(t *hostir.Tensor, at split) {
	part, rest := t.Axes[at.At], t.Axes[at.At]
	part.Extent, rest.Extent = at.By.Extent, rest.Extent.Over(at.By.Extent)
	t.Axes = slices.Replace(t.Axes, at.At, at.At+1, part, rest)
	t.Layout = spread(t.Layout, at.At)
	r.splits[t] = at
}

// spread makes room in a layout for an axis in front of another one, and outside of it.
func spread(layout []int, axis int) []int {
	var list []int
	for _, a := range layout {
		switch {
		case a < axis:
			list = append(list, a)
		case a == axis:
			list = append(list, axis, axis+1)
		default:
			list = append(list, a+1)
		}
	}
	if !slices.Contains(list, axis) {
		list = append(list, axis)
	}
	return list
}

// viewRole is that of what has the elements of t in row-major order: a view, unless they lie otherwise.
func viewRole(t *hostir.Tensor) hostir.Role {
	if slices.IsSorted(t.Layout) {
		return hostir.View
	}
	return hostir.Temp
}

func (r *rowSplitter) reshape(info hostir.Info, out, in *hostir.Tensor) {
	if out.Role == hostir.Temp && !isOpen(out) {
		out.Role = viewRole(in)
	}
	r.program.Body = append(r.program.Body, &hostir.Reshape{Info: info, Out: out, In: in})
}

// tensor declares a tensor like t.
func (r *rowSplitter) tensor(t *hostir.Tensor, suffix string, role hostir.Role) *hostir.Tensor {
	n := &hostir.Tensor{
		Name: r.names.Fresh(t.Name + suffix), DType: t.DType, Axes: slices.Clone(t.Axes), Mesh: t.Mesh, Role: role,
		Layout: slices.Clone(t.Layout), Pos: t.Pos,
	}
	r.program.Tensors = append(r.program.Tensors, n)
	return n
}
