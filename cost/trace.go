package cost

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
)

// traceEvent is an event of the trace format of Chrome and Perfetto. Times are in microseconds.
type traceEvent struct {
	Phase    string         `json:"ph"` // X: a slice, M: a name, s and f: the ends of an arrow
	Name     string         `json:"name"`
	Process  int            `json:"pid"` // the rank
	Thread   int            `json:"tid"` // the stream, from 1
	Category string         `json:"cat,omitempty"`
	Bind     string         `json:"bp,omitempty"`
	ID       string         `json:"id,omitempty"`
	Time     *float64       `json:"ts,omitempty"`
	Duration *float64       `json:"dur,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// WriteTrace writes the timeline of one call in the trace format of Perfetto and Chrome, as --trace of an
// emitted program does. A process is a rank, a track a stream, and a slice a call, with the statement and its
// position in the spec. An arrow leads to each wait from the last call that it waits for.
func (p *Prediction) WriteTrace(w io.Writer) error {
	out := &traceWriter{w: bufio.NewWriter(w), tracks: map[track]int{}, counts: map[counted]int{}, standsFor: map[int]string{}}
	facts := map[string]any{
		"predicted": true, "machine": p.Machine.Name, "call_us": exact(p.Total), "host_us": exact(p.Host), "exposed_us": exact(p.Exposed),
	}
	for _, c := range p.Classes {
		if len(c.Ranks) > 1 {
			out.standsFor[c.Rank] = fmt.Sprintf(", for %d: %s", len(c.Ranks), c.Span())
		}
	}
	if len(p.Classes) > 0 {
		facts["classes"] = len(p.Classes)
	}
	about, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	out.text(`{"displayTimeUnit":"ns",` + "\n" + `"otherData":` + string(about) + `,` + "\n" + `"traceEvents":[`)
	for i, c := range p.Calls {
		out.slice(i, c)
	}
	for i, c := range p.Calls {
		if waits := c.Kind == EventWait || c.Kind == FlagWait; waits && c.Cause >= 0 {
			out.arrow(i, p.Calls[c.Cause], c)
		}
	}
	out.text("\n]}\n")
	if out.err != nil {
		return out.err
	}
	return out.w.Flush()
}

type (
	traceWriter struct {
		w         *bufio.Writer
		events    int
		tracks    map[track]int // numbers within their rank, from 1
		ranks     map[int]int   // number of tracks of each rank
		counts    map[counted]int
		standsFor map[int]string // suffix of a rank's name: the ranks that it stands for
		err       error
	}
	track struct {
		rank   int
		stream string
	}
	// counted identifies calls of one name and kind on one rank, which are numbered.
	counted struct {
		rank       int
		name, kind string
	}
)

func (t *traceWriter) text(text string) {
	if t.err == nil {
		_, t.err = t.w.WriteString(text)
	}
}

func (t *traceWriter) event(e traceEvent) {
	line, err := json.Marshal(e)
	if err != nil && t.err == nil {
		t.err = err
	}
	separator := ",\n"
	if t.events == 0 {
		separator = "\n"
	}
	t.events++
	t.text(separator + string(line))
}

// track returns the number of a call's track, and names the track if it is new.
func (t *traceWriter) track(c Call) int {
	if t.ranks == nil {
		t.ranks = map[int]int{}
	}
	key := track{c.Rank, c.Stream}
	if t.tracks[key] == 0 {
		if t.ranks[c.Rank] == 0 {
			t.event(traceEvent{Phase: "M", Name: "process_name", Process: c.Rank, Thread: 1,
				Args: map[string]any{"name": "rank " + strconv.Itoa(c.Rank) + t.standsFor[c.Rank]}})
			t.event(traceEvent{Phase: "M", Name: "process_sort_index", Process: c.Rank, Thread: 1, Args: map[string]any{"sort_index": c.Rank}})
		}
		t.ranks[c.Rank]++
		t.tracks[key] = t.ranks[c.Rank]
		t.event(traceEvent{Phase: "M", Name: "thread_name", Process: c.Rank, Thread: t.tracks[key], Args: map[string]any{"name": c.Stream}})
	}
	return t.tracks[key]
}

// slice writes a call. Computations and transfers have the name of their statement. The names of other calls begin
// with their kind.
func (t *traceWriter) slice(id int, c Call) {
	name := c.Name
	if !c.Kind.Computes() && !c.Kind.Moves() {
		name = c.Kind.String() + ": " + name
	}
	count := counted{c.Rank, c.Name, c.Kind.String()}
	thread := t.track(c)
	args := map[string]any{"where": c.Pos.String(), "statement": c.Name, "call": 1, "index": t.counts[count], "id": id}
	if c.Moved > 0 {
		args["bytes"] = int64(c.Moved)
	}
	t.event(traceEvent{
		Phase: "X", Name: name, Process: c.Rank, Thread: thread, Category: c.Kind.String(),
		Time: exact(c.Start), Duration: exact(*exact(c.End) - *exact(c.Start)), Args: args,
	})
	t.counts[count]++
}

// arrow draws an arrow from the start of a call to the start of the wait for it.
func (t *traceWriter) arrow(id int, from, to Call) {
	end := func(phase string, c Call, at float64) {
		t.event(traceEvent{
			Phase: phase, Name: "event", Process: c.Rank, Thread: t.track(c), Category: "event", Bind: "e",
			ID: strconv.Itoa(to.Rank) + "." + strconv.Itoa(id), Time: exact(at),
		})
	}
	end("s", from, from.Start)
	end("f", to, to.Start)
}

// exact rounds a time to whole nanoseconds, so that adjacent slices do not overlap.
func exact(us float64) *float64 {
	rounded := math.Round(us*1000) / 1000
	return &rounded
}
