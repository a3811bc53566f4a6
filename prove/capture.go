package prove

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// capture reports the first stream of a captured program, other than the caller's, whose first operation in a call is
// not a wait for a recorded event. Such a stream is not captured. If there is none, capture checks that all streams
// are joined.
func (v *verification) capture() {
	if !v.p.Calls.Graph {
		return
	}
	for n := range v.p.Ranks {
		r, begun := &v.p.Ranks[n], map[int16]bool{issue.Caller: true}
		for i := range r.Ops {
			o := &r.Ops[i]
			if !begun[o.Stream] && (o.Kind != unroll.Wait || o.Arg < 0) {
				at := place(v.p, int32(n), int32(i), 0)
				v.add(Finding{
					Check: Capture, Severity: Error, At: []Place{at}, Missing: "a StreamWait for an event of the caller's stream before it",
					Message: fmt.Sprintf("%s begins stream %s, which is not part of the capture", at.Operation, at.Stream),
				})
				return
			}
			begun[o.Stream] = true
		}
	}
	v.joined()
}

// joined reports the first stream of a captured program that has work after its last join with the caller's stream.
func (v *verification) joined() {
	for n := range v.p.Ranks {
		behind, last := v.joins(int32(n))
		for stream, at := range last {
			if stream != issue.Caller && at >= 0 && behind[stream] < at {
				o := place(v.p, int32(n), at, 0)
				v.add(Finding{
					Check: Capture, Severity: Error, At: []Place{o}, Missing: "a StreamWait of the caller's stream for an event behind it",
					Message: fmt.Sprintf("the captured stream %s is not joined behind %s", o.Stream, o.Operation),
				})
				return
			}
		}
	}
}

// joins returns two indices of operations for each stream of a rank; -1: none. behind is the last operation of the
// stream that the caller's stream has waited for by the end of a call. last is the last operation of the stream that
// neither records an event nor waits for a recorded one.
func (v *verification) joins(rank int32) (behind, last []int32) {
	streams := len(v.p.Streams)
	know, last := make([][]int32, streams), slices.Repeat([]int32{-1}, streams)
	for s := range know {
		know[s] = slices.Repeat([]int32{-1}, streams)
	}
	records := map[int32][]int32{}
	for i := range v.p.Ranks[rank].Ops {
		switch o := &v.p.Ranks[rank].Ops[i]; {
		case o.Kind == unroll.Record:
			records[int32(i)] = slices.Clone(know[o.Stream])
			records[int32(i)][o.Stream] = int32(i)
		case o.Kind == unroll.Wait && o.Arg >= 0:
			for s, at := range records[o.Arg] {
				know[o.Stream][s] = max(know[o.Stream][s], at)
			}
		default:
			last[o.Stream] = int32(i)
		}
	}
	return know[issue.Caller], last
}
