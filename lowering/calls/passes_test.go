package calls

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "store what the passes make of the cases")

// between stands in a case between the text before a pass and the text after it.
const between = "\n---- after\n"

// TestPasses: each file under testdata/passes is a program before and after the pass that the file is
// named after. A second run changes nothing.
func TestPasses(t *testing.T) {
	seen := map[string]bool{}
	files, _ := filepath.Glob("testdata/passes/*.txt")
	for _, file := range files {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txt"), ".")
		seen[name] = true
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before, want, _ := strings.Cut(string(data), between)
			got := after(t, name, before)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
				if *update {
					if err := os.WriteFile(file, []byte(before+between+got), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if again := after(t, name, got); again != got {
				t.Errorf("a second run changes it (-first +second):\n%s", cmp.Diff(got, again))
			}
		})
	}
	for _, pass := range Passes {
		if !seen[pass.Name] {
			t.Errorf("pass %s has no case", pass.Name)
		}
	}
}

// after runs a pass on a text.
func after(t *testing.T, name, text string) string {
	t.Helper()
	p, err := Parse("case", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, pass := range Passes {
		if pass.Name == name {
			pass.Run(p)
		}
	}
	return Print(p)
}

// TestVerifyCatches holds programs that are wrong, each by one line of a right one.
func TestVerifyCatches(t *testing.T) {
	data, err := os.ReadFile("testdata/right.txt")
	if err != nil {
		t.Fatal(err)
	}
	right := string(data)
	if p, err := Parse("right", right); err != nil || Verify(p) != nil {
		t.Fatal(err, Verify(p))
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"a wait before its record":     {"EventRecord(event started_, index 0, on caller)\n", "", "the event was not recorded before in this call"},
		"events that nobody declared":  {"event sent_, index s, on copy", "event lost_, index s, on copy", "no event is called lost_"},
		"a flag that nobody writes":    {"  FlagWrite(share P_shared, done, transfer s, peer to, on copy)\n", "", "nobody writes flag P_shared done[1] of rank"},
		"a flag that nobody waits for": {"  FlagWait(share P_shared, transfer s, on copy)\n", "", "nobody waits for flag P_shared ready[1] of rank"},
		"a flag that is written twice": {"  FlagWrite(share P_shared, done, transfer s, peer to, on copy)\n", "  FlagWrite(share P_shared, done, transfer s, peer to, on copy)\n  FlagWrite(share P_shared, done, transfer s, peer to, on copy)\n", "is written 2 times in a call"},
		"a stream that is not joined":  {"  StreamWait(event sent_, index s, on caller)\n", "", "the caller's stream is not behind stream copy"},
		"a part outside of its batch":  {"FlagWait(share P_shared, done, transfer s, batch returns)", "FlagWait(share P_shared, done, transfer s, on caller)", "stands outside of what it is a part of"},
		"a share that is not there":    {"FlagWait(share P_shared, transfer s, on copy)", "FlagWait(share Q_shared, transfer s, on copy)", "no share is called Q_shared"},
	} {
		if !strings.Contains(right, c.old) {
			t.Fatalf("%s: %q is not in the program", name, c.old)
		}
		p, err := Parse("wrong", strings.Replace(right, c.old, c.new, 1))
		if err != nil {
			t.Fatal(name, err)
		}
		if err := Verify(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// TestParseErrors: a text that is no program is refused where the mistake stands.
func TestParseErrors(t *testing.T) {
	const head = "calls p from \"spec.yaml\"\nstreams 0\n\n"
	for text, want := range map[string]string{
		"program p":                                  "case:1:1: error HG110: a program starts with",
		head + "Jump(on caller)":                     "case:4:1: error HG110: no statement is called \"Jump\"",
		head + "Delay(on caller, on caller)":         "on is given twice",
		head + "Delay(speed 3)":                      "Delay has no field \"speed\"",
		head + "Delay(microseconds x)":               "x is no number",
		head + "Delay(on caller":                     "the parenthesis is not closed",
		head + "For(var s, count 3)\n  Delay()":      "a colon stands behind what holds statements",
		head + "  Delay()":                           "this line is indented",
		head + "Delay(microseconds 1) @x":            "\"@x\" is no position",
		head + "Let(name a, value 1 +)":              "error HG110: 1 +:",
		"calls p from \"s\"\nstreams many\n\n":       "\"many\" is no number of streams",
		"calls p from \"s\"\nstreams 0\nThing()\n\n": "nothing that programs declare is called \"Thing\"",
	} {
		if _, err := Parse("case", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}
