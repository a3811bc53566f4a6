package inplace

import (
	"maps"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// peerReads finds the sums that can read their parts in place.
type peerReads struct {
	*motion
	moves  func(hostir.Stmt) string        // the name of a sum in the schedule
	filled map[*hostir.Tensor]*summedParts // by buffer of the parts
	errors diag.List
}

// summedParts is the buffer of the parts of one sum, with the statements that fill it.
type summedParts struct {
	loop     *hostir.For
	recv     *hostir.P2PCommunication
	subChunk *hostir.Select // makes the view that the receive writes
	local    localCopy
	waits    map[string]*hostir.Wait // the Waits in the loop, by handle
}

// localCopy copies the local partial sum into the buffer of the parts.
type localCopy struct {
	set      *hostir.Set
	from, to *hostir.Select // Selects that take the two sides from their buffers, or nil
}

// find collects the buffers of parts that receives over IPC-get fill in a top-level loop of the program.
func (d *peerReads) find() {
	for _, s := range d.program.Body {
		loop, ok := s.(*hostir.For)
		if !ok {
			continue
		}
		var local []localCopy
		waits := map[string]*hostir.Wait{}
		for s := range hostir.All(loop.Body) {
			switch s := s.(type) {
			case *hostir.Set:
				local = append(local, localCopy{s, outermost(s.In), outermost(s.Out)})
			case *hostir.Wait:
				waits[s.Handle] = s
			case *hostir.P2PCommunication:
				if into := root(s.Buffer); s.Backend == hostir.IPCGet && s.Locality == hostir.AnyNode && !s.Send && into.Role == hostir.Temp {
					d.filled[into] = &summedParts{loop: loop, recv: s, subChunk: selectOf(s.Buffer), waits: waits}
				}
			}
		}
		for _, s := range local {
			if f := d.filled[root(s.set.Out)]; f != nil {
				f.local = s
			}
		}
	}
	maps.DeleteFunc(d.filled, func(_ *hostir.Tensor, f *summedParts) bool { return f.isGathered() })
}

// selectOf returns the Select that makes a view, or nil.
func selectOf(t *hostir.Tensor) *hostir.Select {
	sel, _ := madeBy(t).(*hostir.Select)
	return sel
}

// isGathered reports whether a buffer is gathered and not summed, or gets no local copy. The index of the local slice
// in a gathered buffer depends on the loop variable. The index of the local part in a buffer of parts does not.
func (f *summedParts) isGathered() bool {
	return f.local.set == nil || f.local.to != nil && expr.Mentions(f.local.to.Index, f.loop.Var)
}

// localPart declares a view of the local partial sum in the buffer where the program computes it. If a sum cannot read
// its parts in place, localPart reports an error and returns nil.
func (d *peerReads) localPart(r *hostir.Reduce, f *summedParts) *hostir.Tensor {
	switch {
	case r.Fn != "sum":
		d.refuse(r, "peer-read supports only sums, and this is a %s", r.Fn)
		return nil
	case r.In.DType != r.Out.DType:
		d.refuse(r, "peer-read does not convert, and makes no %s of %s", r.Out.DType, r.In.DType)
		return nil
	}
	from := f.local.from
	if from == nil || from.Parts != 0 || f.local.to == nil {
		d.refuse(r, "peer-read reads the parts of %s where they lie, and these are views that are made slice by slice",
			hostir.Called(d.program, r, r.Out))
		return nil
	}
	view := *from.Out
	view.Name = d.names.Fresh(from.In.Name + "_local")
	if !hostir.SameLayout(&view, r.Out) || !splitAs(&view, r.Out) {
		d.refuse(r, "peer-read adds parts as they lie, and a part does not lie in memory as %s does, axis by axis",
			hostir.Called(d.program, r, r.Out))
		return nil
	}
	view.Of = &hostir.Select{Info: hostir.InfoFrom(r, ""), Out: &view, In: from.In, Axis: from.Axis, Index: f.local.to.Index}
	d.program.Tensors = append(d.program.Tensors, &view)
	return &view
}

// splitAs reports whether two tensors are split over the same mesh axes in the same order.
func splitAs(t, as *hostir.Tensor) bool {
	axes := func(t *hostir.Tensor) (meshAxes []string) {
		for _, i := range hostir.Live(t) {
			meshAxes = append(meshAxes, hostir.SplitOver(t.Axes[i]))
		}
		return meshAxes
	}
	return slices.Equal(axes(t), axes(as))
}

// into redirects a receive to the result of a sum, or to the corresponding sub-chunk of the result.
func (d *peerReads) into(r *hostir.Reduce, f *summedParts) {
	subChunk, recv := f.subChunk, f.recv
	recv.Buffer = r.Out
	if subChunk.Parts == 0 {
		return
	}
	along := subChunk.Axis
	if along >= r.Axis {
		along++ // index in the buffer of all parts
	}
	axis := hostir.AxisMap(r)[0][along]
	view := *r.Out
	view.Name, view.Role, view.Axes = d.names.Fresh(r.Out.Name+"_c"), hostir.View, slices.Clone(r.Out.Axes)
	view.Axes[axis].Extent = subChunk.Out.Axes[subChunk.Axis].Extent
	d.program.Tensors = append(d.program.Tensors, &view)
	view.Of = &hostir.Select{Info: hostir.InfoFrom(r, ""), Out: &view, In: r.Out, Axis: axis, Index: subChunk.Index, Parts: subChunk.Parts}
	recv.Buffer = &view
}
