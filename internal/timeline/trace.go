// Package timeline draws traces of calls, measured and predicted, as one page: a track for each stream of each rank,
// what of the communication computations hide, and the critical path.
//
// A trace goes one way: Read makes a Trace of a file, analyse finds sums and the critical path, Page prints.
package timeline

// Time is in nanoseconds: slices that touch must not overlap by rounding.
type Time int64

// A Trace is what ran on some ranks, from time 0.
type Trace struct {
	Name      string
	Predicted bool
	Machine   string
	Calls     int // of the program; 0 where the file does not say
	Ranks     []*Rank
	Length    Time // the end of the last slice
	LeftOut   int  // slices of the host, which are not shown

	Path []Step // the critical path, in order of time
}

// A Rank is a process of the trace.
type Rank struct {
	Name   string
	Stands int // how many ranks it stands for, itself among them: all that do the same
	Tracks []*Track
	Sums   Sums

	exposed, hidden spans // of its transfers
}

// A Track is a stream.
type Track struct {
	Name   string
	Slices []*Slice // in order of begin
	Lanes  int      // rows that it takes: more than 1 where slices overlap
}

// A Slice is a call on its stream.
type Slice struct {
	Kind       Kind
	Name       string // what is shown on it
	Where      string // the line of the spec
	Detail     string // of which call, by which function
	Begin, End Time
	Lane       int

	Exposed  Time    // of a transfer, what nothing hides
	Behind   []Share // of a transfer, what hides it, longest first
	Critical bool

	rank  *Rank
	track *Track
	place int      // in its track
	from  []*Slice // where arrows that end at it begin
}

// Length is how long a slice takes.
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
