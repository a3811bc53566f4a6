package collective

import (
	"errors"
	"fmt"

	"github.com/hirgen/hirgen/model/domain"
)

// Rooted reports whether one rank of the team, the root, is the only sender or the only receiver.
func (f Form) Rooted() bool { return f.FromRoot || f.ToRoot }

// Copies reports whether a receiver gets the whole operand of one rank unchanged.
func (f Form) Copies() bool { return f.Pairs || f.FromRoot && !f.Splits }

// Exchanges reports whether every rank sends different data to each rank, as in an AllToAll.
func (f Form) Exchanges() bool { return f.Splits && !f.FromRoot && !f.Reduces }

// Sides reports whether a rank has an operand, and whether it has a result. isRoot says whether the rank is the root.
func (f Form) Sides(isRoot bool) (sends, receives bool) {
	return isRoot || !f.FromRoot, isRoot || !f.ToRoot
}

// Slices returns how many slices one rank's operand and one rank's result have. The count of a call is the number of
// elements of one slice.
func (f Form) Slices(team int64) (sent, received int64) {
	sent, received = 1, 1
	if f.Splits {
		sent = team
	}
	if !f.Reduces && !f.FromRoot && !f.Pairs {
		received = team
	}
	return sent, received
}

// Own returns the numbers of the slices of its operand and of its result that rank q of a team exchanges with itself. The
// two may have the same address. ok is false if they may not, because other ranks overwrite slices that are not yet sent.
func (f Form) Own(team, q int64) (sent, received int64, ok bool) {
	slices, parts := f.Slices(team)
	if slices > 1 {
		sent = q
	}
	if parts > 1 {
		received = q
	}
	return sent, received, slices == 1 || parts == 1
}

// Rounds returns how often data goes around a ring of the team. It is 2 for an Allreduce: one round reduces, and the
// next distributes the result. Otherwise it is 1.
func (f Form) Rounds() float64 {
	if f.Reduces && !f.Splits && !f.ToRoot {
		return 2
	}
	return 1
}

// Ring returns the bytes that a rank sends if the collective runs as a ring, and the number of steps. operand and
// result are the sizes of one rank's operand and result in bytes, and team is the number of ranks.
func (f Form) Ring(operand, result, team float64) (bytes, steps float64) {
	others := f.Rounds() * (team - 1)
	switch sent, received := f.Slices(2); {
	case received > sent:
		return others / team * max(result, operand*team), others
	case f.Splits || f.Rounds() > 1:
		return others / team * max(operand, result), others
	}
	return max(operand, result), others
}

// Arithmetic defines how a reduction combines and rounds elements.
type Arithmetic struct {
	Combine func(a, b float64) float64 // combines two elements; nil: the function is unknown
	Round   func(float64) float64      // rounds each element of the result; nil: no rounding
}

// InFP32 returns the arithmetic of reductions in the interpreters, like NCCL's: each step rounds to fp32, and the
// result rounds to type t. The max or min of a NaN and a number is the number. For an unknown function, Combine is nil.
func InFP32(function string, t domain.DType) Arithmetic {
	fn := domain.BinaryFn(function)
	if fn == nil {
		return Arithmetic{}
	}
	drops := domain.FoldOf(function).DropsNaN()
	return Arithmetic{func(a, b float64) float64 {
		switch {
		case drops && a != a:
			return b
		case drops && b != b:
			return a
		}
		return float64(float32(fn(a, b)))
	}, t.Round}
}

// Deliver returns the result of rank q of a team. It returns nil if only the root has a result and q is not the root.
// in has the operands of all ranks of the team, in order; it is nil for a rank without an operand. A slice has count
// elements. It is an error if the root is not in the team, if a reduction has no Combine, or if an operand is too
// short.
func (f Form) Deliver(in [][]float64, count, q, root int64, by Arithmetic) ([]float64, error) {
	switch _, receives := f.Sides(q == root); {
	case f.Rooted() && (root < 0 || root >= int64(len(in))):
		return nil, fmt.Errorf("there is no root %d among %d ranks", root, len(in))
	case f.Reduces && by.Combine == nil:
		return nil, errors.New("there is no such function for a reduction")
	case !receives:
		return nil, nil
	}
	if f.FromRoot {
		in = in[root : root+1]
	}
	first := int64(0)
	if f.Splits {
		first = q * count
	}
	var out []float64
	for i, operand := range in {
		if int64(len(operand)) < first+count {
			return nil, fmt.Errorf("rank %d of the team receives %d elements from %d on, of %d", q, count, first, len(operand))
		}
		slice := operand[first : first+count]
		if i == 0 || !f.Reduces {
			out = append(out, slice...)
			continue
		}
		for n, v := range slice {
			out[n] = by.Combine(out[n], v)
		}
	}
	if f.Reduces && by.Round != nil {
		for n := range out {
			out[n] = by.Round(out[n])
		}
	}
	return out, nil
}
