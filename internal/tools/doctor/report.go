package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
)

// A Check is one requirement of a machine.
type Check struct {
	Group   string `json:"group"`
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"`
	Note    string `json:"note,omitempty"`    // what was found, in words
	Without string `json:"without,omitempty"` // what does not work if the check fails
	Install string `json:"install,omitempty"` // a command or an address that helps
	needed  need
}

// need is the set of programs that a check is required for.
type need int

const (
	optional need = iota
	forAll        // no program runs without it
	forGPUs       // no program runs on GPUs without it
)

// A Report is the result of all checks of a machine. Device is "cuda" if programs can be built for its GPUs, else "cpu",
// or empty if none can be built.
type Report struct {
	Device string   `json:"device"`
	GPUs   int      `json:"gpus"`
	Checks []*Check `json:"checks"`
}

// Examine runs all checks on a machine.
func Examine(ctx context.Context, m *Machine) *Report {
	e := &examination{Machine: m, ctx: ctx, report: &Report{}}
	e.build()
	e.gpus()
	e.libraries()
	e.limits()
	e.decide()
	return e.report
}

// examination collects checks.
type examination struct {
	*Machine
	ctx    context.Context //nolint:containedctx // it lives as long as one call of Examine
	report *Report
	cuda   []string // folders that may have libraries of the CUDA toolkit; nil without nvcc
	python *python
}

// add appends a check. A check that passes needs no remedy.
func (e *examination) add(group string, c Check) {
	c.Group = group
	if c.OK {
		c.Without, c.Install = "", ""
	}
	e.report.Checks = append(e.report.Checks, &c)
}

// decide chooses the device of programs.
func (e *examination) decide() {
	lacks := func(n need) bool {
		return slices.ContainsFunc(e.report.Checks, func(c *Check) bool { return c.needed == n && !c.OK })
	}
	switch {
	case lacks(forAll):
	case lacks(forGPUs):
		e.report.Device = "cpu"
	default:
		e.report.Device = "cuda"
	}
}

// Verdict returns the report in one line.
func (r *Report) Verdict() string {
	var missing []string
	for _, c := range r.Checks {
		if !c.OK && (c.needed == forAll || c.needed == forGPUs && r.GPUs > 0) {
			missing = append(missing, c.Name)
		}
	}
	switch {
	case r.Device == "":
		return "programs cannot be built and run here: see " + strings.Join(missing, ", ")
	case r.Device == "cuda":
		return fmt.Sprintf("programs run here on %d %s (hirgen run --device cuda)", r.GPUs, counted(r.GPUs, "GPU"))
	case len(missing) > 0:
		return "programs run here on the CPU device only; for the GPUs see " + strings.Join(missing, ", ")
	default:
		return "programs run here on the CPU device (hirgen run --device cpu); there is no NVIDIA GPU"
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// Print writes the verdict, a table, group by group, and below it the remedies.
func (r *Report) Print(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintln(&out, r.Verdict())
	group := ""
	for _, c := range r.Checks {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&out, "\n%s:\n", group)
		}
		fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("  %-3s %-14s %-10s %s", mark(c.OK), c.Name, c.Version, c.found()), " "))
	}
	for i, c := range r.lacking() {
		if i == 0 {
			fmt.Fprintln(&out, "\nwhat is missing:")
		}
		fmt.Fprintf(&out, "  %s: %s\n", c.Name, c.Without)
		if c.Install != "" {
			fmt.Fprintf(&out, "      %s\n", c.Install)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func mark(ok bool) string {
	if ok {
		return "ok"
	}
	return "-"
}

// found returns the note and the path of a check.
func (c *Check) found() string {
	return strings.Join(slices.DeleteFunc([]string{c.Note, c.Path}, func(s string) bool { return s == "" }), ", ")
}

// lacking returns the failed checks that have a consequence.
func (r *Report) lacking() []*Check {
	return lists.Except(r.Checks, func(c *Check) bool { return c.OK || c.Without == "" })
}
