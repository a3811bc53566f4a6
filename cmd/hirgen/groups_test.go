package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestEveryCommandHasAGroup checks that every command is in a group of hirgen --help, or in ungrouped.
func TestEveryCommandHasAGroup(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		if (cmd.GroupID == "") != slices.Contains(ungrouped, cmd.Name()) {
			t.Errorf("%s is in group %q; name it in groups.go", cmd.Name(), cmd.GroupID)
		}
	}
	_, help, _ := hirgen(t, "", "--help")
	at := 0
	for _, g := range groups {
		next := strings.Index(help, g.title)
		if next <= at {
			t.Errorf("no %q after the group before it in:\n%s", g.title, help)
		}
		at = next
	}
}

func TestDidYouMean(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"emti", "did you mean hirgen emit?"},
		{"validate x.yaml", "did you mean hirgen check?"},
		{"Build", "did you mean hirgen emit?"},
		{"lower x.yaml --jsno", "unknown flag: --jsno; did you mean --json?"},
		{"explain x.yaml --out p.html", "did you mean --output?"},
		{"run out --world-size 2", "did you mean --ranks?"},
		{"ops gemm", "it is called matmul here"},
		{"ops layernorm", "it is called layer_norm here"},
		{"ops all_reduce", "write sum, and declare the result"},
		{"ops sofmax", `did you mean "softmax"?`},
	} {
		if exit, _, stderr := hirgen(t, "", strings.Fields(c.line)...); exit != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("hirgen %s: exit code %d, no %q in %s", c.line, exit, c.want, stderr)
		}
	}
	for _, line := range []string{"zzzzzz", "lower x.yaml --zzzzzz", "ops zzzzzz"} {
		if exit, _, stderr := hirgen(t, "", strings.Fields(line)...); exit != exitUsage || strings.Contains(stderr, "did you mean") {
			t.Errorf("hirgen %s: exit code %d, %s", line, exit, stderr)
		}
	}
}

// TestOneNameOfTheOutput checks that in every command, -o is short for --output, and for no other flag.
func TestOneNameOfTheOutput(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if (f.Shorthand == "o") != (f.Name == "output") || f.Name == "out" {
				t.Errorf("hirgen %s has -%s, --%s", cmd.Name(), f.Shorthand, f.Name)
			}
		})
	}
}

// TestHelpBeginsPlainly checks that the help of each command begins with a sentence of at most 240 bytes, and its
// summary has at most 90 bytes and no final stop.
func TestHelpBeginsPlainly(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		switch first, _, _ := strings.Cut(cmd.Long, "."); {
		case cmd.Name() == "help" || cmd.Name() == "completion":
		case first == "" || len(first) > 240:
			t.Errorf("hirgen %s --help begins with %q", cmd.Name(), first)
		case len(cmd.Short) > 90 || strings.HasSuffix(cmd.Short, "."):
			t.Errorf("hirgen %s: %q", cmd.Name(), cmd.Short)
		}
	}
}

// TestOtherNamesLeadSomewhere checks that every suggested command and flag exists, and the names that lead to it
// do not.
func TestOtherNamesLeadSomewhere(t *testing.T) {
	commands, flags := []string{}, []string{}
	for _, cmd := range newRoot().Commands() {
		commands = append(commands, cmd.Name())
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	}
	for _, c := range []struct {
		other map[string]string
		names []string
	}{{otherNames, commands}, {otherFlags, flags}} {
		for other, name := range c.other {
			if slices.Contains(c.names, other) || !slices.Contains(c.names, name) {
				t.Errorf("%s is suggested for %s", name, other)
			}
		}
	}
}
