package archtest

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// budget is the most tokens of Go that the project may have, without comments: in the program, and in tests with their
// data and generated code. Raising it takes a reason in the commit message. The aim is 565,600 tokens in the program,
// and 261,200 in the tests.
var budget = map[string]int{"program": 744_000, "tests": 306_400}

// TestTokens compares the number of tokens with the budget.
func TestTokens(t *testing.T) {
	count := map[string]int{}
	for file, text := range goFiles(t) {
		count[kindOf(file)] += tokens(text)
	}
	for kind, most := range budget {
		t.Logf("%s: %d tokens", kind, count[kind])
		if count[kind] > most {
			t.Errorf("%s: %d tokens, and the budget is %d", kind, count[kind], most)
		}
	}
	if count["program"] == 0 {
		t.Error("there are no files")
	}
}

// widest is the most columns of a line of Go, with a tab as one. Raw strings of several lines do not count.
const widest = 140

// TestLinesAreNotWide finds lines of Go, outside of testdata, that have more than widest columns.
func TestLinesAreNotWide(t *testing.T) {
	for file, text := range goFiles(t) {
		if strings.Contains("/"+file, "/testdata/") {
			continue
		}
		for _, line := range wideLines(text) {
			t.Errorf("%s:%d has more than %d columns", file, line, widest)
		}
	}
	dashes := strings.Repeat("-", widest)
	if got := wideLines([]byte("x := 1 //" + dashes + "\ny := `\n" + dashes + "-\n`\n")); !slices.Equal(got, []int{1}) {
		t.Errorf("wide lines %v, want 1", got)
	}
}

// wideLines returns the numbers, from 1, of the lines that have more than widest columns.
func wideLines(text []byte) (list []int) {
	raw := map[int]bool{} // lines of raw strings of several lines
	scan(text, func(at token.Position, _ token.Token, literal string) {
		for i := range strings.Count(literal, "\n") + 1 {
			raw[at.Line+i] = raw[at.Line+i] || strings.HasPrefix(literal, "`") && strings.Contains(literal, "\n")
		}
	})
	number := 0
	for line := range bytes.Lines(text) {
		if number++; utf8.RuneCount(bytes.TrimRight(line, "\n")) > widest && !raw[number] {
			list = append(list, number)
		}
	}
	return list
}

// goFiles returns the text of each Go file that git has or would add, by its path from the root of the module.
func goFiles(t *testing.T) map[string][]byte {
	t.Helper()
	listed, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard",
		"*.go").Output()
	if err != nil {
		t.Skipf("git does not list the files here: %v", err)
	}
	files := map[string][]byte{}
	for file := range strings.Lines(string(listed)) {
		file = strings.TrimSpace(file)
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if os.IsNotExist(err) {
			continue // deleted, but not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		files[file] = text
	}
	return files
}

// kindOf returns the entry of budget that a file counts for.
func kindOf(file string) string {
	if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "generated/") || strings.Contains("/"+file, "/testdata/") {
		return "tests"
	}
	return "program"
}

// tokens counts the tokens of a file, without comments.
func tokens(text []byte) (count int) {
	scan(text, func(token.Position, token.Token, string) { count++ })
	return count
}

// scan calls a function for each token of a file, without comments.
func scan(text []byte, each func(at token.Position, tok token.Token, literal string)) {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(text)), text, nil, 0)
	for {
		at, tok, literal := s.Scan()
		if tok == token.EOF {
			return
		}
		each(files.Position(at), tok, literal)
	}
}
