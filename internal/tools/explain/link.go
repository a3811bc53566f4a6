package explain

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	calltext "github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/emit"
)

var (
	written = regexp.MustCompile(` @(\d+)(?::\d+)?(?:$| )`) // the position of a statement or a declaration
	word    = regexp.MustCompile(`\bk[A-Z]\w*\b`)           // a name that may be a label
)

// positions finds the lines of the spec that a line of text refers to.
func (page *Page) positions(text string) []int {
	if m := written.FindStringSubmatch(text); m != nil {
		return page.inSpec(nil, m[1])
	}
	return page.quoted(text)
}

// quoted finds the lines of the spec that a text names in the form of error messages: line 12 for "spec.yaml:12:5".
func (page *Page) quoted(text string) []int {
	var list []int
	for rest := text; ; {
		_, after, found := strings.Cut(rest, page.Spec+":")
		if !found {
			return list
		}
		end := 0
		for end < len(after) && after[end] >= '0' && after[end] <= '9' {
			end++
		}
		list = page.inSpec(list, after[:end])
		rest = after[end:]
	}
}

// inSpec adds a line of the spec by its number, unless the list contains it or the spec has no such line.
func (page *Page) inSpec(list []int, number string) []int {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(page.Lines) || slices.Contains(list, n) {
		return list
	}
	return append(list, n)
}

// sources prints the programs, and links their lines with statements and with the spec.
func (page *Page) sources(program *calls.Described, opt emit.Options) error {
	sources, err := emit.Sources(program, opt)
	if err != nil {
		return err
	}
	call := 0
	for _, s := range sources {
		number, comesFrom := map[calls.Stmt]int{}, map[calls.Stmt]int{}
		var unknown []calls.Stmt // statements without a position take the line of the next statement that has one
		for stmt := range calls.All(s.Program.Body) {
			call++
			number[stmt] = call
			unknown = append(unknown, stmt)
			if line := stmt.Meta().Pos.Line; line > 0 {
				for _, u := range unknown {
					comesFrom[u] = line
				}
				unknown = nil
			}
		}
		page.Calls = append(page.Calls, Listing{s.Path, page.callLines(s.Program, number)})
		labels := map[string][]int{}
		for _, l := range s.Program.Labels {
			labels[l.Name] = page.quoted(l.Text)
		}
		var lines []Line
		for i, line := range s.Lines {
			l := Line{Number: i + 1, Text: line.Text, Call: number[line.Stmt]}
			if line.Stmt != nil {
				l.From = page.inSpec(nil, strconv.Itoa(comesFrom[line.Stmt]))
			} else {
				l.From = page.quoted(line.Text)
				for _, name := range word.FindAllString(line.Text, -1) {
					for _, n := range labels[name] {
						l.From = page.inSpec(l.From, strconv.Itoa(n))
					}
				}
			}
			lines = append(lines, l)
		}
		page.Sources = append(page.Sources, Listing{s.Path, lines})
	}
	return nil
}

// callLines returns the lines of the printed calls, and appends to page.Waits those calls that wait. number has the
// number of each statement (see Line.Call).
func (page *Page) callLines(p *calls.Program, number map[calls.Stmt]int) []Line {
	var order []calls.Stmt
	for s := range calls.All(p.Body) {
		order = append(order, s)
	}
	var lines []Line
	body, next, batches := false, 0, map[string]string{} // batches: streams by the name of a batch
	for i, text := range strings.Split(strings.TrimRight(calltext.Print(p), "\n"), "\n") {
		l := Line{Number: i + 1, Text: text, From: page.positions(text)}
		switch {
		case text == "":
			body = !body && next == 0
		case body && strings.TrimSpace(text) != "Else:" && next < len(order):
			s := order[next]
			next++
			l.Call = number[s]
			batch, isBatch := s.(*calls.MemOpBatch) // a batch is no wait itself, but its parts are
			if isBatch {
				batches[batch.Name] = streams(s)
			} else if calls.Waits(s) {
				page.Waits = append(page.Waits, Wait{
					Line: Line{Number: l.Number, Text: calltext.Statement(s), From: l.From, Call: l.Call}, Op: calls.Op(s),
					Stream: cmp.Or(streams(s), batches[batchOf(s)]),
					Why:    s.Meta().Why,
				})
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// batchOf returns the name of the batch that a flag wait or a transfer is a part of, or an empty text.
func batchOf(s calls.Stmt) string {
	switch s := s.(type) {
	case *calls.FlagWait:
		return s.Batch
	case *calls.Transfer:
		return s.Batch
	}
	return ""
}

// streams names the streams of a statement.
func streams(s calls.Stmt) string {
	var list []string
	for _, on := range calls.StreamsOf(s) {
		list = append(list, on.String())
	}
	return strings.Join(list, ", ")
}
