package emit_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
)

// unqualified returns the identifiers of C++ code that are neither members nor after "::". Comments, strings and
// preprocessor lines do not count.
func unqualified(code string) map[string]bool {
	code = regexp.MustCompile(`(?m)//.*$|/\*(?s:.*?)\*/|"(?:[^"\\\n]|\\.)*"|^\s*#.*$`).ReplaceAllString(code, " ")
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(->|\.|::)?\s*\b([A-Za-z_]\w*)`).FindAllStringSubmatch(code, -1) {
		if m[1] == "" {
			found[m[2]] = true
		}
	}
	return found
}

// handedOut are names that need no reservation. The first ones do not depend on the names of a spec but come from the
// same allocator: names of loops, of mesh axes, of batches of copies, of events of compute streams, and of the statements
// of such events.
var handedOut = map[string]bool{
	"i": true, "i2": true, "s": true, "x": true, "x2": true, "x_": true, "x_ucc_": true, "started_": true, "joined_": true,
	"kStarted": true, "kJoined": true, "kDelay": true, "copies": true,
	"model": true, "a": true, "b": true, "c": true, "workspace": true, // parameters of functions that use no names of a spec
	"add":  true, // a function that launches a kernel: it gets another name if a spec uses this one
	"rows": true, // a parameter of such a function: operands of kernels get other names
}

// ofLibraries matches names of libraries, which no part of a spec can have.
var ofLibraries = regexp.MustCompile(`^(?:cuda|cublas|nccl|UCC_|hirgen|__)`)

// TestFixedNamesAreReserved emits every golden case twice, with different names for the parts of the spec. Unqualified
// names that occur in both texts come from templates, or are in handedOut. If a part of a spec had a name of a
// template, it would change the meaning of the template, so the allocator must not return such names.
func TestFixedNamesAreReserved(t *testing.T) {
	fixed := map[string]string{}
	for _, name := range goldenCases(t) {
		var found []map[string]bool
		for _, text := range []string{"benign", "zorkmid"} {
			program := loadCase(t, name)
			program.Name = text
			rename(program, text)
			all := map[string]bool{}
			files, err := renderHost(program, emit.Options{})
			if err != nil { // rename does not rename the variables of a few conditions
				t.Logf("%s: %v", name, err)
			}
			for _, f := range files {
				if strings.HasPrefix(f.Path, text) && strings.HasSuffix(f.Path, "pp") {
					maps.Copy(all, unqualified(string(f.Data)))
				}
			}
			found = append(found, all)
		}
		for word := range found[0] {
			if found[1][word] {
				fixed[word] = name
			}
		}
	}
	if len(fixed) < 60 {
		t.Fatalf("only %d names", len(fixed))
	}
	for _, word := range slices.Sorted(maps.Keys(fixed)) {
		if !emit.IsReserved(word) && !handedOut[word] && !ofLibraries.MatchString(word) {
			t.Errorf("%s is spelled in %s and is not reserved", word, fixed[word])
		}
	}
}
