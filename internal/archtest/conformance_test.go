package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls/collective"
)

var (
	apiCall       = regexp.MustCompile(`\b(?:cuda|cu|nccl|cublasLt|cudnn)[A-Z]\w*\s*\(`)
	apiName       = regexp.MustCompile(`\b(?:cuda|cu|nccl|cublasLt|cudnn)[A-Z]\w*`)
	ofComment     = regexp.MustCompile(`//.*`)
	quotedInclude = regexp.MustCompile(`#include "([^"]+)"`)
	inBackticks   = regexp.MustCompile("`([^`]+)`")
)

// callsOf returns the names of CUDA's libraries that look like calls in the sources below folders, without //
// comments.
func callsOf(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, folder := range folders {
		for _, text := range sources(t, folder) {
			for _, call := range apiCall.FindAllString(text, -1) {
				found[strings.TrimRight(call, " \t\n(")] = true
			}
		}
	}
	return found
}

// sources returns the C++ and the templates below a folder, by path, without // comments.
func sources(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".cpp", ".cu", ".hpp", ".h", ".tmpl"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = ofComment.ReplaceAllString(string(text), "")
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no sources below %s: %v", folder, err)
	}
	return found
}

// callsMade returns the functions of CUDA's libraries that the runtime and the templates use: all functions that they
// call, some of them on GPUs only, and functions that they only name, for example to look them up, if the CPU device
// declares them.
func callsMade(t *testing.T) map[string]bool {
	t.Helper()
	folders := []string{"../../runtime_cpp/src", "../../runtime_cpp/include", "../../templates"}
	made := callsOf(t, folders...)
	for _, row := range collective.Rows() {
		if row.NCCL != "" { // the template nccl/collective calls it
			made[row.NCCL] = true
		}
	}
	declared := callsOf(t, "../../runtime_cpp/cpu/include")
	for _, folder := range folders {
		for _, text := range sources(t, folder) {
			for _, name := range apiName.FindAllString(text, -1) {
				if declared[name] {
					made[name] = true
				}
			}
		}
	}
	return made
}

// row is a row of the table in docs/conformance.md.
type row struct{ calls, cases []string }

func conformanceRows(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, line := range strings.Split(string(text), "\n") {
		columns := strings.Split(line, "|")
		if len(columns) != 5 || !strings.Contains(columns[1], "`") {
			continue
		}
		var r row
		for _, call := range inBackticks.FindAllStringSubmatch(columns[1], -1) {
			r.calls = append(r.calls, call[1])
		}
		for _, test := range inBackticks.FindAllStringSubmatch(columns[3], -1) {
			r.cases = append(r.cases, test[1])
		}
		rows = append(rows, r)
	}
	return rows
}

// suite returns the programs of the conformance suite by subject: the text of each, with the code that all share and
// the headers that it includes.
func suite(t *testing.T) map[string]string {
	t.Helper()
	const folder = "../../runtime_cpp/tests/device"
	const include = "../../runtime_cpp/include"
	files, programs, headers := sources(t, folder), map[string]string{}, sources(t, include)
	shared := files[filepath.Join(folder, "test.cpp")]
	for path, text := range files {
		if filepath.Ext(path) == ".hpp" {
			continue
		}
		whole := text + shared
		for _, found := range quotedInclude.FindAllStringSubmatch(text, -1) {
			whole += files[filepath.Join(folder, found[1])] + headers[filepath.Join(include, found[1])]
		}
		programs[strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))] = whole
	}
	return programs
}

// TestEveryCallHasAnExpectation compares docs/conformance.md with the calls that are made and the cases of the suite.
func TestEveryCallHasAnExpectation(t *testing.T) {
	made, programs, seen := callsMade(t), suite(t), map[string]bool{}
	for _, r := range conformanceRows(t) {
		var texts []string
		for _, test := range r.cases {
			subject, name, _ := strings.Cut(test, "/")
			if !strings.Contains(programs[subject], `{"`+name+`",`) {
				t.Errorf("%s is no case of runtime_cpp/tests/device", test)
			}
			texts = append(texts, programs[subject])
		}
		for _, call := range r.calls {
			if seen[call] {
				t.Errorf("%s has two rows", call)
			}
			seen[call] = true
			if !made[call] {
				t.Errorf("%s has a row, but neither the runtime nor a template calls it", call)
			}
			word := regexp.MustCompile(`\b` + call + `\b`)
			if !slices.ContainsFunc(texts, word.MatchString) {
				t.Errorf("%s is in none of the programs that its row names", call)
			}
		}
	}
	for call := range made {
		if !seen[call] {
			t.Errorf("%s is called, and docs/conformance.md has no expectation of it", call)
		}
	}
}
