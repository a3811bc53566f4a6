package emit_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
)

// TestThingsAreMadeInTheOrderOfTheCalls checks that the data members and the constructor of a class create objects
// in the order of the steps in calls.txt.
func TestThingsAreMadeInTheOrderOfTheCalls(t *testing.T) {
	made := map[string]int{}
	for _, name := range folders(t, specsDir) {
		files := map[string]string{}
		for _, f := range render(t, loadExample(t, name)) {
			files[f.Path] = string(f.Data)
		}
		variants, err := text.ParseAll(emit.CallsName, files[emit.CallsName])
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range variants {
			source := files[p.Name+[]string{".cpp", "_across_nodes.cpp"}[i]]
			for kind, n := range inOrder(t, p, source) {
				made[kind] += n
			}
		}
	}
	for _, kind := range []string{"copy", "team", "memory", "events", "compute", "workspaces_", "share"} {
		if made[kind] == 0 {
			t.Errorf("no example makes %s", kind)
		}
	}
}

// inOrder checks that the source creates the objects of a program in the order of its steps, and counts them by
// kind.
func inOrder(t *testing.T, p *calls.Program, source string) map[string]int {
	t.Helper()
	_, members, _ := strings.Cut(source, "\n private:\n")
	members, _, _ = strings.Cut(members, "\n};\n")
	_, constructor, _ := strings.Cut(source, "hirgen::Context& context) : context_(context) {")
	constructor, _, _ = strings.Cut(constructor, "\n  void run(")
	// Members come first, wherever the constructor stands in the text.
	order, made := members+constructor, map[string]int{}
	shares, last := calls.ByName(p.Shares), 0
	for _, step := range p.Life.Create {
		pattern, kind := `\b`+step.Name+`\b[^;]* context_\.`, "memory"
		switch {
		case step.Do == calls.Import:
			pattern, kind = `peers_\.share\(`+shares[step.Name].Memory+`, `+shares[step.Name].Shape+`\)`, "share"
		case step.Do == calls.Export, step.Do == calls.Exchange, strings.HasSuffix(step.Name, ".flags"):
			continue // the runtime's share() does these steps
		case step.Name == calls.Copies:
			pattern, kind = `hirgen::Peers peers_`, step.Name
		case step.Name == calls.Compute:
			pattern, kind = `compute_\[i\] = context\.worker`, step.Name
		case step.Name == calls.ComputeWorkspaces:
			pattern, kind = `workspaces_\[i\] =\s+context\.workspace`, step.Name
		case strings.Contains(members, "hirgen::Team& "+step.Name):
			kind = "team"
		case step.Do == calls.Make:
			kind = "events"
		}
		at := regexp.MustCompile(pattern).FindStringIndex(order[last:])
		if at == nil {
			t.Errorf("%s: %s is not made behind what the calls make before it", p.Name, step)
			continue
		}
		last += at[0]
		made[kind]++
	}
	return made
}

// TestOtherLivesAreNotPrinted checks that Render refuses calls whose steps to create or destroy the program differ from
// those of the emitted class.
func TestOtherLivesAreNotPrinted(t *testing.T) {
	var printed string
	program := loadExample(t, "matmul_ar_p2p")
	for _, f := range render(t, program) {
		if f.Path == emit.CallsName {
			printed = string(f.Data)
		}
	}
	for _, c := range []struct{ old, by, want string }{
		{"\n  finish\n", "\n", `section "destroy"`},
		{"\ncreate:\n", "\ncreate:\n  allocate more_\n", `section "create"`},
		{"", "", ""},
	} {
		given, err := text.ParseAll(emit.CallsName, strings.Replace(printed, c.old, c.by, 1))
		if err != nil {
			t.Fatal(err)
		}
		lowered, err := lowering.Calls(program, lowering.Options{})
		if err == nil {
			err = lowered.With(given)
		}
		if err == nil {
			_, err = emit.Render(lowered, emit.Options{})
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q for %q: %v, want %q", c.by, c.old, err, c.want)
		}
	}
}
