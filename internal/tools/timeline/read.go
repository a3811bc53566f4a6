package timeline

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Read reads a trace in Chrome's format: of an emitted program, predicted by hirgen, or of PyTorch's profiler. It omits
// host events of the profiler. An error names the line and the column of wrong JSON, or the number of a wrong event. A
// trace without calls on a stream is an error.
func Read(name string, r io.Reader) (*Trace, error) {
	f, err := parse(name, r)
	if err != nil {
		return nil, err
	}
	b := &reader{trace: &Trace{Name: name, Predicted: f.Other.Predicted, Machine: f.Other.Machine, Calls: f.Other.Calls,
		Call: Time(1000 * max(f.Other.Call, f.Other.Untraced))}, processes: map[string]*process{}}
	for i, e := range f.Events {
		if err := b.event(e); err != nil {
			return nil, fmt.Errorf("%s: event %d, %q: %w", name, i, e.Name, err)
		}
	}
	if f.Distributed != nil && len(b.withSlices()) == 1 {
		b.withSlices()[0].name = "rank " + strconv.Itoa(f.Distributed.Rank)
	}
	b.order()
	if len(b.trace.Ranks) == 0 {
		return nil, fmt.Errorf("%s: no call on a stream of a device", name)
	}
	b.arrows()
	return b.trace, nil
}

// process collects the events of a rank, which come in any order.
type process struct {
	key, name, labels string
	sort, first       int
	threads           map[string]*thread
}

type thread struct {
	key, name   string
	sort, first int
	slices      []*Slice
}

// arrow is the beginning or the end of an arrow.
type arrow struct {
	process, thread, id string
	at                  Time
}

type reader struct {
	trace        *Trace
	processes    map[string]*process
	begins, ends []arrow
	count        int
}

func (b *reader) thread(e event) (*process, *thread) {
	b.count++
	key := plain(e.Process)
	p := b.processes[key]
	if p == nil {
		p = &process{key: key, first: b.count, threads: map[string]*thread{}}
		b.processes[key] = p
	}
	key = plain(e.Thread)
	t := p.threads[key]
	if t == nil {
		t = &thread{key: key, first: b.count}
		p.threads[key] = t
	}
	return p, t
}

func (b *reader) event(e event) error {
	at, err := nanoseconds(e.Time)
	if err != nil {
		return err
	}
	switch e.Phase {
	case "M":
		b.name(e)
	case "X":
		length, err := nanoseconds(e.Duration)
		if err != nil {
			return err
		}
		b.slice(e, at, length)
	case "s":
		b.begins = append(b.begins, arrow{plain(e.Process), plain(e.Thread), plain(e.ID), at})
	case "f":
		b.ends = append(b.ends, arrow{plain(e.Process), plain(e.Thread), plain(e.ID), at})
	}
	return nil
}

// name records the name of a process or a thread from an event.
func (b *reader) name(e event) {
	p, t := b.thread(e)
	name := strings.TrimSpace(plain(e.Args["name"]))
	place, _ := strconv.Atoi(plain(e.Args["sort_index"]))
	switch e.Name {
	case "process_name":
		p.name = name
	case "process_labels":
		p.labels = plain(e.Args["labels"])
	case "process_sort_index":
		p.sort = place
	case "thread_name":
		t.name = name
	case "thread_sort_index":
		t.sort = place
	}
}

func (b *reader) slice(e event, at, length Time) {
	kind := kindOf(e.Category, e.Name)
	if kind == host {
		b.trace.LeftOut++
		return
	}
	_, t := b.thread(e)
	s := &Slice{Kind: kind, Name: e.Name, Where: plain(e.Args["where"]), Index: plain(e.Args["index"]), Begin: at, End: at + max(length, 0)}
	s.Bytes, _ = strconv.ParseInt(plain(e.Args["bytes"]), 10, 64)
	var words []string
	for _, key := range []string{"call", "index", "function", "kernel", "and_also"} {
		if value := plain(e.Args[key]); value != "" {
			words = append(words, strings.ReplaceAll(key, "_", " ")+" "+value)
		}
	}
	s.Detail = strings.Join(words, ", ")
	t.slices = append(t.slices, s)
}

func (b *reader) withSlices() []*process {
	var list []*process
	for _, p := range b.processes {
		if slices.ContainsFunc(slices.Collect(maps.Values(p.threads)), func(t *thread) bool { return len(t.slices) > 0 }) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(x, y *process) int {
		return cmp.Or(cmp.Compare(x.sort, y.sort), byNumber(x.key, y.key), cmp.Compare(x.first, y.first))
	})
	return list
}

// byNumber compares texts that are integers. It returns 0 if either text is not.
func byNumber(x, y string) int {
	m, noM := strconv.Atoi(x)
	n, noN := strconv.Atoi(y)
	if noM != nil || noN != nil {
		return 0
	}
	return cmp.Compare(m, n)
}

// folded matches the name of a predicted rank that represents others: "rank 0, for 64: 0-63".
var folded = regexp.MustCompile(`^rank .*, for ([1-9]\d{0,8}):`)

// order makes ranks, tracks and slices of the events, and shifts them to begin at time 0.
func (b *reader) order() {
	list := b.withSlices()
	for _, p := range list {
		r := &Rank{Name: p.title(), Stands: 1}
		if found := folded.FindStringSubmatch(r.Name); found != nil {
			r.Stands, _ = strconv.Atoi(found[1])
		}
		for _, t := range p.sorted() {
			track := &Track{Name: cmp.Or(t.name, "stream "+t.key), Slices: t.slices}
			slices.SortStableFunc(track.Slices, func(x, y *Slice) int {
				return cmp.Or(cmp.Compare(x.Begin, y.Begin), cmp.Compare(x.End, y.End))
			})
			for i, s := range track.Slices {
				s.rank, s.track, s.place = r, track, i
			}
			r.Tracks = append(r.Tracks, track)
		}
		b.trace.Ranks = append(b.trace.Ranks, r)
	}
	b.fromZero()
	for _, r := range b.trace.Ranks {
		for _, t := range r.Tracks {
			t.setLanes()
		}
	}
}

func (b *reader) fromZero() {
	zero, first := Time(0), true
	b.trace.all(func(s *Slice) {
		if first || s.Begin < zero {
			zero, first = s.Begin, false
		}
	})
	b.trace.all(func(s *Slice) {
		s.Begin -= zero
		s.End -= zero
		b.trace.Length = max(b.trace.Length, s.End)
	})
	for _, list := range [][]arrow{b.begins, b.ends} {
		for i := range list {
			list[i].at -= zero
		}
	}
}

// title returns the name of a rank. PyTorch gives all processes the same name and distinguishes them by labels.
func (p *process) title() string {
	if strings.HasPrefix(p.labels, "GPU") && !strings.HasPrefix(p.name, "rank") {
		return p.labels
	}
	return cmp.Or(p.name, "process "+p.key)
}

// sorted returns the threads that have slices, in the order of the page.
func (p *process) sorted() []*thread {
	var list []*thread
	for _, t := range p.threads {
		if len(t.slices) > 0 {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(x, y *thread) int {
		return cmp.Or(cmp.Compare(x.sort, y.sort), byNumber(x.key, y.key), cmp.Compare(x.first, y.first))
	})
	return list
}
