package prove

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Text prints a report for people. For each finding it prints the message and, if known, the position in the spec and
// the assignment of ranks to nodes. It also prints the operations that wait for each other, a drawing of the chains,
// the missing edge, statement or step, and a hint, if the finding has them. The last line is the outcome.
func (r *Report) Text(w io.Writer) {
	for i := range r.Findings {
		r.Findings[i].text(w)
	}
	fmt.Fprintln(w, r.Line())
}

// Line returns the last line of the text: the outcome.
func (r *Report) Line() string { return fmt.Sprintf("%s: %s: %s", r.File, r.Program, r.summary()) }

// Warns reports whether the program is proved, but with at least one warning.
func (r *Report) Warns() bool {
	return len(r.Findings) > 0 && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity != Warning })
}

// summary returns the outcome and the size of the program, for the last line.
func (r *Report) summary() string {
	counts := map[Severity]int{}
	for i := range r.Findings {
		counts[r.Findings[i].Severity]++
	}
	looked := fmt.Sprintf("%s on %s, %d calls in a row", count(r.Operations, "operation"), count(r.Ranks, "rank"), r.Calls)
	if counts[Error]+counts[Undecided] == 0 && !r.looked(Computed) {
		looked += "; not what it computes, for which the spec is needed"
	}
	switch {
	case counts[Error] > 0:
		return fmt.Sprintf("%s: %s", count(counts[Error], "error"), looked)
	case counts[Undecided] > 0:
		return fmt.Sprintf("not decided: %s", looked)
	case counts[Warning] > 0:
		return fmt.Sprintf("proved, with %s: %s", count(counts[Warning], "warning"), looked)
	}
	return "proved: " + looked
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (f *Finding) text(w io.Writer) {
	where := ""
	for _, at := range f.At {
		if at.Spec != "" {
			where = at.Spec + ": "
			break
		}
	}
	fmt.Fprintf(w, "%s%s: %s: %s\n", where, f.Severity, f.Check, f.Message)
	if f.Layout != "" {
		fmt.Fprintf(w, "  with %s\n", f.Layout)
	}
	if len(f.At) > 0 && f.At[0].Why != "" {
		f.waits(w)
	}
	if len(f.Chains) > 0 {
		draw(w, f.Chains)
	}
	if f.Missing != "" {
		fmt.Fprintf(w, "  missing: %s\n", f.Missing)
	}
	if f.Internal {
		fmt.Fprintln(w, "  hint: this is a mistake in hirgen, not in the spec: please report it with the spec")
	}
}

// waits prints a line for each operation of a deadlock, or of a cycle of kernels.
func (f *Finding) waits(w io.Writer) {
	for _, at := range f.At {
		fmt.Fprintf(w, "    rank %d, %s, call %d: %s %s\n", at.Rank, at.Stream, at.Call, at.Operation, at.Why)
	}
}

// draw prints one or two chains next to each other, from top to bottom. The operations of the finding are on one line.
func draw(w io.Writer, chains []Chain) {
	above, below := 0, 0
	for _, c := range chains {
		above, below = max(above, c.Here), max(below, len(c.Steps)-c.Here)
	}
	columns := make([][]string, len(chains))
	for i, c := range chains {
		columns[i] = []string{c.Title}
		for at := c.Here - above; at < c.Here+below; at++ {
			switch {
			case at < 0 || at >= len(c.Steps):
				columns[i] = append(columns[i], "|")
			case at == c.Here:
				columns[i] = append(columns[i], "* "+c.Steps[at])
			default:
				columns[i] = append(columns[i], "o "+c.Steps[at])
			}
			columns[i] = append(columns[i], "|")
		}
	}
	width := 0
	for _, line := range columns[0] {
		width = max(width, len(line))
	}
	for n := range columns[0] {
		line := "    " + columns[0][n]
		if len(columns) > 1 {
			line = fmt.Sprintf("    %-*s   %s", width, columns[0][n], columns[1][n])
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
