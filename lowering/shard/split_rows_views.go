package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// result returns the tensor that a statement on split rows makes: out if the passes may change its axes, and otherwise a new
// tensor from which out is made.
func (r *rowSplitter) result(out *hostir.Tensor) *hostir.Tensor {
	if isOpen(out) {
		return out
	}
	t := r.names.Declare(out, "_rows")
	t.Inferred = true
	return t
}

// viewKey identifies a view of tensor t. If mesh is set, axis at is split into two for this mesh axis, or is gathered
// over it. If mesh is empty, at is the position of an added axis, or NoAxis for the view that has the rows in one axis.
type viewKey struct {
	t    *hostir.Tensor
	at   int
	mesh string
}

// view returns the view that key identifies. On the first call for a key, view declares it, and build sets its axes and
// appends the statement that makes it.
func (r *rowSplitter) view(key viewKey, suffix string, build func(*hostir.Tensor)) *hostir.Tensor {
	if r.views[key] == nil {
		v := r.names.Declare(key.t, suffix)
		v.Role = viewRole(key.t)
		build(v)
		r.views[key] = v
	}
	return r.views[key]
}

// rows returns a view of t with its rows in two axes, or t itself if it has these already. If the row axis of t is
// split over ranks, t is gathered first, because each rank has a single row, which cannot be split.
func (r *rowSplitter) rows(info hostir.Info, t *hostir.Tensor, at split) *hostir.Tensor {
	if _, is := r.splits[t]; is {
		return t
	}
	if hostir.SplitOver(t.Axes[at.At]) != "" {
		t = r.view(viewKey{t, at.At, t.Axes[at.At].Mesh}, "_all", func(v *hostir.Tensor) {
			v.Role, v.Inferred = hostir.Temp, true
			v.Axes[at.At].Place(domain.Serial, "")
			gathered := info
			gathered.Note = "gathered, since each rank has one row and needs all"
			r.program.Body = append(r.program.Body, &hostir.Set{Info: gathered, Out: v, In: t})
		})
	}
	return r.view(viewKey{t, at.At, at.By.Mesh}, "_rows", func(v *hostir.Tensor) {
		r.splitAxis(v, at)
		r.reshape(info, v, t)
	})
}

// whole returns t, or a view with its rows in one axis if t has them in two.
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

// single returns a view of t with an additional axis of one element, which is broadcast to all parts of the rows. The
// axis comes after the axes of t that are outside of the split axis.
func (r *rowSplitter) single(info hostir.Info, t *hostir.Tensor, row []int, at int) *hostir.Tensor {
	place := 0
	for i, j := range row {
		if j != hostir.Unmapped && j < at {
			place = i + 1
		}
	}
	return r.view(viewKey{t: t, at: place}, "_rows", func(v *hostir.Tensor) {
		v.Axes = slices.Insert(v.Axes, place, domain.Stretched())
		v.Layout = spread(v.Layout, place)
		r.program.Body = append(r.program.Body, &hostir.Broadcast{Info: info, Out: v, In: t, Axis: place})
	})
}

// splitAxis replaces an axis of t by two.
func (r *rowSplitter) splitAxis(t *hostir.Tensor, at split) {
	part, rest := t.Axes[at.At], t.Axes[at.At]
	part.Extent, rest.Extent = at.By.Extent, rest.Over(at.By.Extent)
	t.Axes = slices.Replace(t.Axes, at.At, at.At+1, part, rest)
	t.Layout = spread(t.Layout, at.At)
	r.splits[t] = at
}

// spread adds an axis to a layout. The new axis has the number axis, and lies directly outside of the axis that had this
// number, or innermost if there was none.
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

// viewRole returns the role of a tensor with the elements of t in row-major order: View if t's layout has that order, and
// otherwise Temp.
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
