package verify

import "github.com/hirgen/hirgen/lowering/hostir"

// ranges checks that a Slice takes existing elements of its operand, and that the operands of a Concat are together as
// long as its result. It returns false after a breach.
func (v *verifier) ranges(s hostir.Stmt) bool {
	out, end := hostir.Result(s), int64(0)
	for i, r := range hostir.Ranges(s) {
		t := hostir.Uses(s)[i]
		if r.InAxis < 0 || r.InAxis >= len(t.Axes) || r.OutAxis < 0 || r.OutAxis >= len(out.Axes) {
			v.breach(s, "shape", "%s of %s and %s is along an axis that they do not have", hostir.Op(s), t.Name, out.Name)
			return false
		}
		if has := t.Axes[r.InAxis].Size; r.From < 0 || r.From+r.Size > has {
			v.breach(s, "range", "elements %d to %d of axis %d of %s, which has %d", r.From, r.From+r.Size-1, r.InAxis, t.Name, has)
			return false
		}
		end = r.To + r.Size
	}
	if r := hostir.Ranges(s)[0]; end != out.Axes[r.OutAxis].Size {
		v.breach(s, "shape", "axis %d of %s has %d elements, and its parts have %d", r.OutAxis, out.Name,
			out.Axes[r.OutAxis].Size, end)
		return false
	}
	return true
}
