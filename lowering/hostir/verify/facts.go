package verify

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// fact is a property of a tensor or a handle that is true from a statement on, on the current path.
type fact struct {
	kind factKind
	what any // a *hostir.Tensor, or the handle of a communication (string)
}

// String returns the name of the fact's tensor or handle.
func (k fact) String() string {
	if t, ok := k.what.(*hostir.Tensor); ok {
		return t.Name
	}
	return fmt.Sprint(k.what)
}

type factKind int

const (
	allocated factKind = iota
	freed
	kept      // the buffer was allocated on some path, and has to be freed
	viewed    // the view exists
	written   // the buffer of the tensor was written, at least in part
	started   // the handle is started and not yet waited for
	waitedFor // the handle was waited for
)

// outlives reports whether a fact of this kind that a loop adds is still true after the loop.
func (k factKind) outlives() bool {
	return k == written || k == freed || k == started || k == waitedFor
}

type change struct {
	fact  fact
	added bool
}

func (f *flow) set(kind factKind, what any, value bool) {
	k := fact{kind, what}
	if f.facts[k] == value {
		return
	}
	f.log = append(f.log, change{k, value})
	if value {
		f.facts[k] = true
	} else {
		delete(f.facts, k)
	}
}

// undo reverts, newest first, those changes after the first mark entries of the log for which drop returns true. The
// other changes stay in the log. It returns all changes after mark.
func (f *flow) undo(mark int, drop func(change) bool) []change {
	changes := slices.Clone(f.log[mark:])
	f.log = f.log[:mark]
	var kept []change
	for i := len(changes) - 1; i >= 0; i-- {
		c := changes[i]
		switch {
		case !drop(c):
			kept = append(kept, c)
		case c.added:
			delete(f.facts, c.fact)
		default:
			f.facts[c.fact] = true
		}
	}
	slices.Reverse(kept)
	f.log = append(f.log, kept...)
	return changes
}
