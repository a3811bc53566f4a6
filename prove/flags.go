package prove

import (
	"fmt"
)

// use is the first write of a flag, or the first wait for it, and the number of such operations in a call.
type use struct {
	rank, op, count, sequence int32
}

// flags reports flags that are written more than once in a call, waited for and not written, or written and not waited for. It
// also reports flags whose sequence numbers differ on the two ranks.
func (v *verification) flags() {
	all := int32(0)
	for _, s := range v.p.Shares {
		all = max(all, s.FirstFlag+2*s.Transfers)
	}
	if all == 0 {
		return
	}
	writes, waits := make([]use, int(all)*len(v.p.Ranks)), make([]use, int(all)*len(v.p.Ranks))
	for n := range v.p.Ranks {
		r := &v.p.Ranks[n]
		for i := range r.Ops {
			for _, s := range r.SignalsOf(&r.Ops[i]) {
				at := &waits[s.Owner*all+s.Flag]
				if s.Write {
					at = &writes[s.Owner*all+s.Flag]
				}
				if at.count++; at.count == 1 {
					at.rank, at.op, at.sequence = int32(n), int32(i), s.Sequence
				}
			}
		}
	}
	said := map[string]bool{}
	for i := range writes {
		v.flag(writes[i], waits[i], v.p.FlagName(int32(i)/all, int32(i)%all), said)
	}
}

func (v *verification) flag(write, wait use, name string, said map[string]bool) {
	report := func(at use, what, missing string) {
		o := place(v.p, at.rank, at.op, 0)
		if key := o.Spec + what[:8]; !said[key] {
			said[key] = true
			v.add(Finding{Check: FlagPairs, Severity: Error, Message: "the flag " + name + " " + what, At: []Place{o}, Missing: missing,
				Chains: []Chain{around(v.p, at.rank, at.op, 0, "")}})
		}
	}
	switch {
	case write.count > 1:
		report(write, fmt.Sprintf("is written %d times in a call", write.count), "")
	case write.count == 0 && wait.count > 0:
		report(wait, "is waited for, and nobody writes it", "a FlagWrite of "+name)
	case write.count > 0 && wait.count == 0:
		report(write, "is written, and nobody waits for it", "a FlagWait for "+name)
	case write.count > 0 && (write.sequence != wait.sequence || v.begun(write, write) != v.begun(write, wait)):
		report(write, fmt.Sprintf("gets number %d where %d is waited for", write.sequence, wait.sequence), "")
	}
}

// begun returns by how much each call of the program raises the sequence number of the flag that write sets, as counted on
// the rank of on. on is the same write, or the wait for the flag.
func (v *verification) begun(write, on use) int32 {
	r := &v.p.Ranks[write.rank]
	for _, s := range r.SignalsOf(&r.Ops[write.op]) {
		for i := range v.p.Shares {
			if d := &v.p.Shares[i]; s.Write && s.Flag >= d.FirstFlag && s.Flag < d.FirstFlag+2*d.Transfers {
				return v.p.Ranks[on.rank].Begun[i]
			}
		}
	}
	return 0
}
