package recall

import (
	"fmt"
	"io"
	"strings"
)

// PrintDevice prints how often the CPU device and the interpreter agree, how often the device sees each effect, each mutant
// on which they disagree, and every survivor.
func PrintDevice(w io.Writer, results []*DeviceResult) {
	effects := []Effect{None, Wrong, Hangs, Fails, NotBuilt}
	seen := map[[2]bool]int{}
	of := map[Effect]int{}
	for _, r := range results {
		seen[[2]bool{r.Effect != None, r.Device != None}]++
		of[r.Device]++
	}
	t := table(w)
	fmt.Fprintln(t, "\tdevice: an effect\tdevice: none\t")
	fmt.Fprintf(t, "interpreter: an effect\t%d\t%d\t\n", seen[[2]bool{true, true}], seen[[2]bool{true, false}])
	fmt.Fprintf(t, "interpreter: none\t%d\t%d\t\n", seen[[2]bool{false, true}], seen[[2]bool{false, false}])
	_ = t.Flush() // PrintDevice ignores errors of w
	fmt.Fprint(w, "\non the device:")
	for _, e := range effects {
		fmt.Fprintf(w, " %s %d;", e, of[e])
	}
	fmt.Fprintln(w)
	survivors := 0
	for _, r := range results {
		if r.Survives() {
			survivors++
		}
		if !r.Agree() || r.Survives() {
			fmt.Fprintf(w, "  %s: %s (site %d)\n    %s %s\n    interpreter: %s %s\n    device: %s %s\n    checker: %s\n",
				r.Subject, r.Kind, r.Site, r.Pos, r.What, r.Effect, line(r.Why), r.Device, line(r.DeviceWhy), verdict(r.Rejected))
		}
	}
	fmt.Fprintf(w, "%d survivors\n", survivors)
}

func line(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	for l := range strings.Lines(rest) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			return first + ": " + l
		}
	}
	return first
}

func verdict(err error) string {
	if err == nil {
		return "accepts it"
	}
	return line(err.Error())
}
