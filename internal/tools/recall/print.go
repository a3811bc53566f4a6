package recall

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/hirgen/hirgen/internal/tools/recall/faults"
	"github.com/hirgen/hirgen/prove/mutate"
)

// row counts the mutants of a kind.
type row struct {
	mutants, refused, wrong, caught, rejected int // caught: wrong and rejected; rejected: also those without an effect
}

func (n *row) add(r *Result) {
	n.mutants++
	if r.Refused != nil {
		n.refused++
		return
	}
	if r.Effect != None {
		n.wrong++
		if r.Rejected != nil {
			n.caught++
		}
	}
	if r.Rejected != nil {
		n.rejected++
	}
}

// recall returns the percentage of wrong mutants that are rejected, as text. It is "-" if no mutant is wrong.
func (n *row) recall() string {
	if n.wrong == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n.caught)/float64(n.wrong))
}

// Kinds returns the kinds of mutants in the order in which Print prints their rows.
func Kinds() []string {
	var list []string
	for _, k := range mutate.Kinds {
		list = append(list, k.Name)
	}
	return list
}

// Faults returns the titles of the mistakes in the lowering in the order in which Print prints their rows.
func Faults() []string {
	var list []string
	for i := range faults.All {
		list = append(list, faults.All[i].Title())
	}
	return list
}

// table returns a writer that aligns columns to the right.
func table(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// Print prints a row for each of the kinds that has results, a row for all results, and every survivor with the effect that
// the oracle saw.
func Print(w io.Writer, kinds []string, results []*Result) {
	var all row
	of := map[string]*row{}
	for _, r := range results {
		if of[r.Kind] == nil {
			of[r.Kind] = &row{}
		}
		of[r.Kind].add(r)
		all.add(r)
	}
	t := table(w)
	line := func(name string, n *row) {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\t%d\t\n", name, n.mutants, n.refused, n.wrong, n.caught, n.recall(), n.rejected-n.caught)
	}
	fmt.Fprintln(t, "kind\tmade\trefused before\twrong\trejected\trecall\trejected, no effect seen\t")
	for _, k := range kinds {
		if n := of[k]; n != nil {
			line(k, n)
		}
	}
	line("all", &all)
	_ = t.Flush() // Print ignores errors of w
	fmt.Fprintf(w, "\n%d survivors\n", all.wrong-all.caught)
	for _, r := range results {
		if r.Survives() {
			why, _, _ := strings.Cut(r.Why, "\n")
			fmt.Fprintf(w, "  %s: %s (site %d)\n    %s %s\n    %s: %s\n", r.Subject, r.Kind, r.Site, r.Pos, r.What, r.Effect, why)
		}
	}
}
