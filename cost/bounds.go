package cost

import "slices"

// bounds computes Critical and Busiest, which are lower bounds of the total in any order of the tasks, and Serial,
// which is an upper bound.
func (p *Prediction) bounds(u *unrolling) {
	p.Critical, p.Busiest = u.longestChain(), p.Host
	streams := make([]float64, len(u.streams))
	ranks := make([]shares, len(u.places))
	memory := make([]float64, len(u.places))
	for i := range u.tasks {
		t := &u.tasks[i]
		p.Serial += t.fixed + t.alone
		if t.stream >= 0 {
			streams[t.stream] += t.fixed + t.alone
		}
		for slot, r := range t.ranks {
			in, out := t.links(int32(slot))
			w := ranks[r].of(t)
			w.in, w.out = w.in+in*t.alone, w.out+out*t.alone
			memory[r] += t.hbm * t.alone
		}
		if t.gemm != nil {
			ranks[t.ranks[0]].sms += t.gemm.busy(u.machine.SMs)
		}
	}
	for r, use := range ranks {
		p.Busiest = max(p.Busiest, use.inside.in, use.inside.out, use.network.in, use.network.out, use.sms, memory[r])
	}
	p.Busiest = max(p.Busiest, slices.Max(streams))
	p.Serial += p.Host
}

// least returns a lower bound of the total for the tasks issued so far: the time of the host or of the busiest
// stream, whichever is longer.
func (u *unrolling) least(host float64) float64 {
	streams := make([]float64, len(u.streams))
	for i := range u.tasks {
		if t := &u.tasks[i]; t.stream >= 0 {
			streams[t.stream] += t.fixed + t.alone
		}
	}
	return max(host, slices.Max(streams))
}

// longestChain returns the time along the longest chain of tasks, each of which waits for the previous one and takes
// as long as it does alone. Tasks are not in topological order, so longestChain visits each task after all tasks that
// it waits for.
func (u *unrolling) longestChain() float64 {
	waits, reach := make([]int32, len(u.tasks)), make([]float64, len(u.tasks))
	var ready []int32
	for i := range u.tasks {
		if waits[i] = u.tasks[i].before; waits[i] == 0 {
			ready = append(ready, int32(i))
		}
	}
	longest := 0.0
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		t := &u.tasks[i]
		end := reach[i] + t.fixed + t.alone
		longest = max(longest, end)
		for e := t.first; e >= 0; e = u.edges[e].next {
			to := u.edges[e].to
			reach[to] = max(reach[to], end)
			if waits[to]--; waits[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return longest
}
