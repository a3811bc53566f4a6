package mutate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
)

var update = flag.Bool("update", false, "rewrite the expected mistakes")

// programs reads the programs of testdata.
func programs(t *testing.T) []*calls.Program {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.calls")
	var list []*calls.Program
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := text.Parse(file, string(data))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// TestMistakes compares the lines that the first mistake of each kind changes with testdata/mistakes.txt, in the
// first program that can have the mistake. For every kind there has to be such a program.
func TestMistakes(t *testing.T) {
	var b strings.Builder
	for _, k := range Kinds {
		list := programs(t)
		i := slices.IndexFunc(list, func(p *calls.Program) bool { return Sites(p, k) > 0 })
		if i < 0 {
			t.Errorf("no program can have %s", k.Name)
			continue
		}
		m := Make(list[i], k, 0)
		fmt.Fprintf(&b, "%s: %s\n  %s, %d sites, %s\n%s\n", k.Name, k.Doc, list[i].Name, Sites(list[i], k), m.What,
			difference(text.Print(list[i]), text.Print(m.Program)))
	}
	const file = "testdata/mistakes.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// difference lists the lines that are not in both texts, by a longest common subsequence.
func difference(before, after string) string {
	old, made := strings.Split(before, "\n"), strings.Split(after, "\n")
	common := make([][]int, len(old)+1) // length of the longest common subsequence of old[i:] and made[j:]
	for i := range common {
		common[i] = make([]int, len(made)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(made) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if old[i] == made[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var b strings.Builder
	for i, j := 0, 0; i < len(old) || j < len(made); {
		switch {
		case i < len(old) && j < len(made) && old[i] == made[j]:
			i, j = i+1, j+1
		case j == len(made) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			b.WriteString("  - " + old[i] + "\n")
			i++
		default:
			b.WriteString("  + " + made[j] + "\n")
			j++
		}
	}
	return b.String()
}

// TestOneMistakeEach checks that each of the first 12 sites of each kind gives another program, that its text is read back
// unchanged, and that the original program does not change.
func TestOneMistakeEach(t *testing.T) {
	for _, p := range programs(t) {
		before := text.Print(p)
		for _, k := range Kinds {
			seen := map[string]int{before: -1}
			for site := range min(Sites(p, k), 12) {
				m := Make(p, k, site)
				after := text.Print(m.Program)
				if other, twice := seen[after]; twice {
					t.Errorf("%s: %s at site %d is that at site %d: %s", p.Name, k.Name, site, other, m.What)
				}
				seen[after] = site
				again, err := text.Parse("mutant", after)
				if err != nil {
					t.Errorf("%s: %s at site %d: %v", p.Name, k.Name, site, err)
				} else if text.Print(again) != after {
					t.Errorf("%s: %s at site %d is not read back", p.Name, k.Name, site)
				}
			}
			if Make(p, k, Sites(p, k)) != nil {
				t.Errorf("%s: %s has a site behind the last one", p.Name, k.Name)
			}
		}
		if text.Print(p) != before {
			t.Errorf("%s has changed", p.Name)
		}
	}
}

// TestSample checks that a seed always picks the same mutants, that another seed picks other ones, and that there are not too
// many.
func TestSample(t *testing.T) {
	p := programs(t)[0]
	sample := func(seed uint64) (lines []string) {
		of := map[string]int{}
		for _, m := range Sample(p, 2, seed) {
			of[m.Kind]++
			lines = append(lines, m.Kind+" "+m.What)
		}
		for kind, n := range of {
			if n > 2 {
				t.Errorf("%d mutants are %s", n, kind)
			}
		}
		return lines
	}
	if diff := cmp.Diff(sample(1), sample(1)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(sample(1), sample(2)) {
		t.Error("two seeds pick the same mutants")
	}
}
