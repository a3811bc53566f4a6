package cost

// memorySMs is the share of the SMs that a memory-bound kernel needs for the whole memory bandwidth.
const memorySMs = 0.5

// share divides a rank's SMs, memory bandwidth and links among its running tasks. NCCL and copies by kernels take their
// SMs first, up to the share memorySMs. GEMMs and other kernels take the rest in the order in which they
// began, because the GPU issues the blocks of a kernel after the blocks of earlier kernels. If memory or a direction of
// the links is overloaded, all of its users slow down by the same factor. A GEMM that begins during a copy by a
// kernel slows down like a GEMM next to a collective, because some of its blocks wait for the SMs of the copy.
func (s *simulation) share(rank int32) {
	list := s.active[rank]
	var use shares
	for _, a := range list {
		use.add(&s.tasks[a.task], a.slot)
	}
	free := float64(s.machine.SMs) * (1 - min(use.sms, memorySMs))
	rates := make([]float64, len(list))
	memory, power := 0.0, 0.0
	for i, a := range list {
		t := &s.tasks[a.task]
		rates[i] = 1
		if t.kind.queues() {
			rates[i] = s.onSMs(t, free)
			free -= min(free, t.sms*float64(s.machine.SMs))
		}
		memory += t.hbm * rates[i]
		power += t.power() * rates[i]
	}
	held := 0.0 // copies by kernels that began before a task
	for i, a := range list {
		t := &s.tasks[a.task]
		in, out := t.links(a.slot)
		all := use.inside
		if t.crosses {
			all = use.network
		}
		slower := 1.0
		for _, u := range [][2]float64{{t.hbm, memory}, {in, all.in}, {out, all.out}} {
			if u[0] > 0 {
				slower = max(slower, u[1])
			}
		}
		if t.gemm != nil {
			slower = max(slower, power) // not the product: for a GEMM that memory bounds, power is its use of memory
		}
		rates[i] /= slower
		if t.gemm != nil {
			rates[i] *= 1 - s.machine.Beside.Copy*min(1, use.copies) - s.machine.Beside.NCCL*min(1, use.nccl+held)
			if use.gemms > 1 {
				rates[i] *= 1 - s.machine.Beside.GEMM
			}
		}
		if t.kind == Copy && t.sms > 0 && a.slot == 0 {
			held++
		}
		s.pace(a, rates[i])
	}
}

// shares adds up what the tasks in progress on a rank use: the shares of the SMs and links, and the numbers of
// collectives and GEMMs. Prediction.bounds uses the fields for sums of times instead.
type shares struct {
	sms, copies, nccl float64
	inside, network   ways
	gemms             int
}

// ways are the two directions of a rank's links, or of its network.
type ways struct{ in, out float64 }

// of returns the links or the network, whichever a task uses.
func (u *shares) of(t *task) *ways {
	if t.crosses {
		return &u.network
	}
	return &u.inside
}

func (u *shares) add(t *task, slot int32) {
	in, out := t.links(slot)
	w := u.of(t)
	w.in, w.out = w.in+in, w.out+out
	switch {
	case t.gemm != nil:
		u.gemms++
	case t.kind.queues():
	case t.stream < 0: // a meeting
		u.sms += t.sms
		u.nccl++
	default:
		u.copies += max(in, out)
		if slot == 0 {
			u.sms += t.sms
		}
	}
}

// links returns the shares that a task uses of the links of its slot-th rank. Data that leaves the first rank
// arrives at the others.
func (t *task) links(slot int32) (in, out float64) {
	if slot == 0 {
		return t.in, t.out
	}
	return t.out, t.in
}

// power returns the share of the power limit that a GEMM draws alone; 0 for other tasks. It is 1 if the power limit, or
// memory, bounds the GEMM's time, and less if waves of tiles leave SMs idle or work follows the tiles.
func (t *task) power() float64 {
	if t.gemm == nil || t.alone == 0 {
		return 0
	}
	return t.gemm.floor / t.alone
}

// onSMs returns the rate of a task on that many free SMs, relative to its rate alone.
func (s *simulation) onSMs(t *task, free float64) float64 {
	all := float64(s.machine.SMs)
	switch {
	case t.gemm == nil:
		return min(1, free/(all*memorySMs))
	case free < 1:
		return 0
	default:
		return min(1, t.alone/t.gemm.on(free))
	}
}
