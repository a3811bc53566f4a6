// Package timeline draws measured and predicted traces of calls as one page: a track for each stream of each rank, the
// hidden communication, and the critical path.
//
// A trace passes three steps: Read makes a Trace of a file, analyse computes sums and the critical path, and Page
// prints.
package timeline

// Time is in integer nanoseconds, so that rounding does not make adjacent slices overlap.
type Time int64

// A Trace has the slices of some ranks, from time 0.
type Trace struct {
	Name      string
	Predicted bool
	Machine   string
	Calls     int // traced calls of the program; 0 if the file does not say
	Ranks     []*Rank
	Length    Time   // the end of the last slice
	Call      Time   // time of one call; 0 if the file does not say
	Against   string // the speedup over the first trace of a page
	LeftOut   int    // slices of the host, which are not shown

	Path []Step // the critical path, in order of time
}

// A Rank is a process of the trace.
type Rank struct {
	Name   string
	Stands int // how many ranks it represents, including itself: all ranks that do the same
	Tracks []*Track
	Sums   Sums

	exposed, hidden spans // time ranges of its exposed and of its hidden transfers
}

// A Track is a stream.
type Track struct {
	Name   string
	Slices []*Slice // slices in order of begin, then of end
	Lanes  int      // rows that it takes: more than 1 where slices overlap
}

// A Slice is a call on its stream.
type Slice struct {
	Kind       Kind
	Name       string // the text on the slice
	Where      string // its position in the spec: file:line:column
	Index      string // number of earlier calls of the same kind by the same statement, in one program call; "" if unknown
	Detail     string // call, index, function, kernel and and_also, as text
	Begin, End Time
	Bytes      int64 // bytes that a transfer sends or receives; 0 if unknown
	Lane       int

	Exposed  Time    // exposed time of a transfer
	Behind   []Share // computations that hide a transfer, longest first
	Critical bool

	rank  *Rank
	track *Track
	place int      // index in Slices of its track
	from  []*Slice // slices at which the arrows to this slice begin
}

// Length returns the duration of a slice.
func (s *Slice) Length() Time { return s.End - s.Begin }

// A Share is the time of some slices of one name.
type Share struct {
	Name  string
	Time  Time
	Times int
}

// all calls f for every slice.
func (t *Trace) all(f func(*Slice)) {
	for _, r := range t.Ranks {
		r.all(f)
	}
}

func (r *Rank) all(f func(*Slice)) {
	for _, track := range r.Tracks {
		for _, s := range track.Slices {
			f(s)
		}
	}
}
