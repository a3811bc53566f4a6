package timeline

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hirgen/hirgen/internal/base/style"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string

	page = template.Must(template.New("page").Parse(pageText))
)

// view is the data of the page.
type view struct {
	Style, Own template.CSS
	Script     template.JS
	Kinds      []kindView
	Traces     []traceView
	Columns    []column
	Data       data
	Shortest   string // length of the shortest slices drawn; "" if all are drawn
	NamesWidth int    // width of the column of names, in pixels
}

type kindView struct{ Class, Label string }

type traceView struct {
	Name, About, Shares, Path string
	chart
	Rows []rowView
}

type rowView struct {
	Short, Name string
	Cells       []string
}

// data describes the slices for the script, in drawing order.
type data struct {
	Length Time     `json:"length"`
	Texts  []string `json:"texts"`
	Slices [][]int  `json:"slices"` // begin and length in ns, then indices in Texts: name, kind, where, detail, track, what hides it
}

// A column is a column of the table of sums: its heading, its explanation and its value for a rank.
type column struct {
	Name, About string
	value       func(Sums) Time
}

var columns = []column{
	{"GEMMs", "a GEMM runs", func(s Sums) Time { return s.GEMMs }},
	{"other kernels", "another kernel runs, and no GEMM", func(s Sums) Time { return s.Kernels }},
	{"exposed", "something moves between ranks, and nothing else runs", func(s Sums) Time { return s.Exposed }},
	{"idle", "nothing runs: a stream waits, the host is late, or the rank has no more to do", func(s Sums) Time { return s.Idle }},
	{"transfers", "something moves between ranks; the time that NCCL waits for other ranks is part of it", func(s Sums) Time {
		return s.Transfers
	}},
	{"hidden", "something moves, and a GEMM or another kernel runs on the same rank", func(s Sums) Time { return s.Hidden }},
}

// Page draws traces below each other on one axis, as one self-contained HTML file. If a slice refers to a line of a
// source, the page shows the line.
func Page(w io.Writer, traces []*Trace, sources Sources) error {
	//nolint:gosec // both are constant
	v := view{Style: style.Common(), Own: template.CSS(pageStyle), Script: template.JS(pageScript), Columns: columns}
	for k := range host {
		v.Kinds = append(v.Kinds, kindView{k.String(), k.Label()})
	}
	shortest := shortestDrawn(traces, maxDrawn)
	if shortest > 0 {
		v.Shortest = shortest.String()
	}
	for i, t := range traces {
		t.analyse()
		if t.Predicted && i > 0 {
			traces[i-1].takeBytes(t)
		}
		v.Data.Length = max(v.Data.Length, t.Length)
		if first := traces[0]; t != first && t.Call > 0 && first.Call > 0 {
			t.Against = fmt.Sprintf(", %.2f times as fast as %s", float64(first.Call)/float64(t.Call), shortened(first.Name, listLetters))
		}
	}
	texts := &texts{numbers: map[string]int{}, sources: sources}
	for _, t := range traces {
		one := traceView{Name: t.Name, About: t.about(), Shares: t.sharesText(), Path: t.pathText(), chart: t.layout(v.Data.Length, shortest),
			Rows: t.rows()}
		for _, n := range one.Names {
			v.NamesWidth = max(v.NamesWidth, nameMargin+letterWidth*utf8.RuneCountInString(n.Short))
		}
		for _, b := range one.Slices {
			v.Data.Slices = append(v.Data.Slices, texts.slice(b.slice))
		}
		v.Traces = append(v.Traces, one)
	}
	v.Data.Texts = texts.list
	return page.Execute(w, v)
}

// rows returns the sums of each rank of a trace, preceded by their mean if there are several ranks.
func (t *Trace) rows() []rowView {
	row := func(name string, s Sums, ranks int) rowView {
		r := rowView{Short: shortened(name, nameLetters), Name: name}
		for _, c := range columns {
			r.Cells = append(r.Cells, (c.value(s) / Time(ranks)).String())
		}
		r.Cells = append(r.Cells, share(s.Hidden, s.Transfers), t.Length.String())
		return r
	}
	var rows []rowView
	if t.ranks() > 1 {
		rows = append(rows, row("mean of "+counted(t.ranks(), "rank"), t.sums(), t.ranks()))
	}
	for _, r := range t.Ranks {
		rows = append(rows, row(r.Name, r.Sums, 1))
	}
	return rows
}

// about describes a trace in one line.
func (t *Trace) about() string {
	word := "Measured"
	if t.Predicted {
		word = "Predicted"
	}
	if t.Machine != "" {
		word += " on " + t.Machine
	}
	word += ": "
	if t.Call > 0 {
		word += t.Call.String() + " a call" + t.Against + "; drawn: "
	}
	text := word + t.Length.String() + ", " + counted(t.ranks(), "rank")
	if n := len(t.Ranks); n < t.ranks() {
		text += fmt.Sprintf(" (%d drawn, one for all that do the same)", n)
	}
	if t.Calls > 0 {
		text += ", " + counted(t.Calls, "call")
	}
	if t.LeftOut > 0 {
		text += fmt.Sprintf("; %s of the host left out", counted(t.LeftOut, "slice"))
	}
	return text + "."
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sharesText describes the shares of the ranks' total time.
func (t *Trace) sharesText() string {
	s, whole := t.sums(), t.Length*Time(t.ranks())
	return fmt.Sprintf("Of the ranks' time %s GEMMs, %s other kernels, %s exposed transfers, %s idle; %s of the transfers hidden.",
		share(s.GEMMs, whole), share(s.Kernels, whole), share(s.Exposed, whole), share(s.Idle, whole), share(s.Hidden, s.Transfers))
}

// pathText describes the shares of the critical path.
func (t *Trace) pathText() string {
	if len(t.Path) == 0 {
		return ""
	}
	return "Critical path: " + listed(t.pathShares(), pathMost) + "."
}

// Text prints a summary of each trace: a line on the trace, a line of shares and, if known, a line on the critical
// path. Call Page for the traces first, because it analyses them.
func Text(w io.Writer, traces []*Trace) {
	for _, t := range traces {
		fmt.Fprintf(w, "%s: %s\n  %s\n", t.Name, strings.TrimSuffix(t.about(), "."), small(t.sharesText()))
		if text := t.pathText(); text != "" {
			fmt.Fprintf(w, "  %s\n", small(text))
		}
	}
}

// takeBytes copies the bytes of transfers from the same calls in a prediction, because programs do not record them.
func (t *Trace) takeBytes(from *Trace) {
	bytes := map[[4]string]int64{}
	for _, one := range []*Trace{from, t} {
		one.all(func(s *Slice) {
			call := [4]string{s.rank.Name, s.Name, s.Where, s.Index}
			s.Bytes = cmp.Or(s.Bytes, bytes[call])
			bytes[call] = s.Bytes
		})
	}
}

// moved returns the size and the rate of a transfer, or "" if the size is not known.
func (s *Slice) moved() string {
	if s.Bytes == 0 || s.Length() == 0 {
		return ""
	}
	return fmt.Sprintf(", %.3g MB, %.3g GB/s", float64(s.Bytes)/1e6, float64(s.Bytes)/float64(s.Length()))
}

// small returns a sentence as part of a line: without its full stop, and beginning in lower case.
func small(text string) string { return strings.ToLower(text[:1]) + strings.TrimSuffix(text[1:], ".") }

// texts stores each text once.
type texts struct {
	list    []string
	numbers map[string]int
	sources Sources
}

func (t *texts) number(text string) int {
	n, known := t.numbers[text]
	if !known {
		n = len(t.list)
		t.list, t.numbers[text] = append(t.list, text), n
	}
	return n
}

// slice returns the numbers that describe a slice for the script, in the order of data.Slices.
func (t *texts) slice(s *Slice) []int {
	beside := ""
	switch {
	case s.Kind.Moves() && len(s.Behind) == 0:
		beside = "nothing hides it"
	case s.Kind.Moves():
		beside = "hidden behind " + listed(s.Behind, behindMost) + "; exposed " + s.Exposed.String()
	}
	return []int{
		int(s.Begin), int(s.Length()), t.number(s.Name), t.number(s.Kind.Label()), t.number(t.sources.line(s.Where)),
		t.number(strings.TrimPrefix(s.Detail+s.moved(), ", ")), t.number(s.rank.Name + ", " + s.track.Name), t.number(beside),
	}
}
