package timeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestRandomTraces checks random traces. Sums must equal those counted instant by instant. Slices of a lane must not
// overlap. The slices and gaps of the critical path must add up to the end of each step.
func TestRandomTraces(t *testing.T) {
	for seed := range uint64(300) {
		trace := randomTrace(rand.New(rand.NewPCG(seed, 1)))
		trace.analyse()
		for _, r := range trace.Ranks {
			checkSums(t, trace, r)
			checkLanes(t, r)
		}
		checkPath(t, trace)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, describe(trace))
		}
	}
}

func randomTrace(random *rand.Rand) *Trace {
	b := &reader{trace: &Trace{}, processes: map[string]*process{}}
	for range 1 + random.IntN(3) {
		b.processes[string(rune('0'+len(b.processes)))] = &process{threads: map[string]*thread{}}
	}
	var all []*Slice
	for _, p := range b.processes {
		for range 1 + random.IntN(3) {
			th := &thread{key: string(rune('0' + len(p.threads)))}
			for range 1 + random.IntN(8) {
				begin := Time(random.IntN(60))
				s := &Slice{Kind: Kind(random.IntN(int(host))), Name: "Allgather of " + string(rune('a'+random.IntN(4))), Begin: begin,
					End: begin + Time(random.IntN(20))}
				th.slices, all = append(th.slices, s), append(all, s)
			}
			p.threads[th.key] = th
		}
	}
	for range random.IntN(6) {
		to, from := all[random.IntN(len(all))], all[random.IntN(len(all))]
		to.from = append(to.from, from)
	}
	b.order()
	return b.trace
}

func checkSums(t *testing.T, trace *Trace, r *Rank) {
	t.Helper()
	var want Sums
	for at := range trace.Length {
		var gemm, kernel, moves bool
		r.all(func(s *Slice) {
			if s.Begin <= at && at < s.End {
				gemm, kernel, moves = gemm || s.Kind == GEMM, kernel || s.Kind == Kernel, moves || s.Kind.Moves()
			}
		})
		for sum, holds := range map[*Time]bool{
			&want.GEMMs: gemm, &want.Kernels: kernel && !gemm, &want.Transfers: moves, &want.Hidden: moves && (gemm || kernel),
			&want.Exposed: moves && !gemm && !kernel, &want.Idle: !gemm && !kernel && !moves,
		} {
			if holds {
				*sum++
			}
		}
	}
	if r.Sums != want {
		t.Errorf("%s: %+v, not %+v", r.Name, r.Sums, want)
	}
}

func checkLanes(t *testing.T, r *Rank) {
	t.Helper()
	for _, track := range r.Tracks {
		for i, x := range track.Slices {
			for _, y := range track.Slices[i+1:] {
				if x.Lane == y.Lane && x.End > y.Begin || x.Lane >= track.Lanes {
					t.Errorf("%v and %v in lane %d of %d", *x, *y, x.Lane, track.Lanes)
				}
			}
		}
	}
}

func checkPath(t *testing.T, trace *Trace) {
	t.Helper()
	var at, end Time
	for i, step := range trace.Path {
		if step.Gap < 0 || !step.Kind.Works() || !step.Critical {
			t.Errorf("step %d: %+v", i, step)
		}
		at += step.Gap + step.Length()
		if at != step.End {
			t.Errorf("step %d ends at %d, not %d", i, step.End, at)
		}
	}
	trace.all(func(s *Slice) {
		if s.Kind.Works() {
			end = max(end, s.End)
		}
	})
	if at != end {
		t.Errorf("the path ends at %d, not %d", at, end)
	}
}

// TestSize checks that the page of a trace with 64,000 slices stays below 5 MB.
func TestSize(t *testing.T) {
	trace := &Trace{}
	for range 64 {
		r := &Rank{Name: "rank", Stands: 1}
		track := &Track{Name: "stream"}
		for i := range 1000 {
			s := &Slice{
				Kind: Kind(i % 4), Name: "Matmul of C_s, added to what is there", Where: "spec.yaml:12:5", Detail: fmt.Sprintf("call 1, index %d", i),
				Begin: Time(1_000_000*i + 100*len(trace.Ranks)), rank: r, track: track, place: i,
			}
			s.End = s.Begin + Time(500_000+i)
			track.Slices = append(track.Slices, s)
		}
		track.setLanes()
		r.Tracks = append(r.Tracks, track)
		trace.Ranks, trace.Length = append(trace.Ranks, r), track.Slices[999].End
	}
	var page bytes.Buffer
	if err := Page(&page, []*Trace{trace}, nil); err != nil || page.Len() > 5e6 || page.Len() < 2e6 {
		t.Errorf("%d bytes, %v", page.Len(), err)
	}
}

// TestShortestDrawn checks that a page draws the longest slices, and no more than asked for.
func TestShortestDrawn(t *testing.T) {
	trace := read(t, "testdata/measured.json")
	for most := 1; most < 12; most++ {
		drawn := 0
		shortest := shortestDrawn([]*Trace{trace}, most)
		trace.all(func(s *Slice) {
			if s.Length() >= shortest {
				drawn++
			}
		})
		if c := trace.layout(trace.Length, shortest); drawn > most || len(c.Slices) != drawn {
			t.Errorf("%d slices, drawn %d, for at most %d", drawn, len(c.Slices), most)
		}
	}
}
