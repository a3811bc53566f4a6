package names_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/names"
)

// runtimeText returns the text of all files in those folders of C++ code that every emitted folder has copies of.
func runtimeText(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range []string{"include", "src", "cpu"} {
		err := filepath.WalkDir("../../runtime_cpp/"+folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			all.Write(data)
			all.WriteByte('\n')
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// refused reports whether hirgen refuses a program with these names of the program and of a tensor.
func refused(program, tensor string) bool {
	_, err := model.Load("spec.yaml", fmt.Appendf(nil, "hirgen: 1\nname: %s\ntensors: {%s: [8]}\nops: [Zz = relu(%[2]s)]\n", program, tensor),
		nil)
	return err != nil
}

// abiFunctions are suffixes of names of a program, hirgen_NAME_SUFFIX: C functions and targets of CMake.
var abiFunctions = strings.Fields("create run tensor transport destroy last_error main abi_version tune device runtime archive")

// TestNamesOfTheRuntimeAreReserved checks that no program can have a name with which its C names (hirgen_NAME,
// hirgen_NAME_create, HIRGEN_NAME_TENSOR) are names of the runtime.
func TestNamesOfTheRuntimeAreReserved(t *testing.T) {
	text := runtimeText(t)
	found := regexp.MustCompile(`\bhirgen_\w+`).FindAllString(text, -1)
	if len(found) < 100 {
		t.Fatalf("only %d names", len(found))
	}
	for _, global := range found {
		name := strings.TrimPrefix(global, "hirgen_")
		if !refused(name, "A") {
			t.Errorf("a program may be called %s, and the runtime has %s", name, global)
		}
		for _, function := range abiFunctions {
			if program, ends := strings.CutSuffix(name, "_"+function); ends && !refused(program, "A") {
				t.Errorf("a program may be called %s, and the runtime has %s", program, global)
			}
		}
	}
	for _, define := range regexp.MustCompile(`define +HIRGEN_(\w+)`).FindAllStringSubmatch(text, -1) {
		for at, c := range define[1] {
			program, tensor := strings.ToLower(define[1][:at]), define[1][min(at+1, len(define[1])):]
			if c == '_' && names.Fault(tensor) == "" && !refused(program, tensor) {
				t.Errorf("program %s may have a tensor %s, and the runtime has the macro HIRGEN_%s", program, tensor, define[1])
			}
		}
	}
}

// preprocess runs the C++ preprocessor on all headers of the runtime, for the CPU device.
func preprocess(t *testing.T, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is no g++")
	}
	headers, err := filepath.Glob("../../runtime_cpp/include/hirgen/*.h*")
	if err != nil || len(headers) < 10 {
		t.Fatal(err, headers)
	}
	args := append([]string{"-std=c++20", "-x", "c++", "-I../../runtime_cpp/include", "-I../../runtime_cpp/cpu/include"}, flags...)
	source := ""
	for _, header := range headers {
		source += "#include \"hirgen/" + filepath.Base(header) + "\"\n"
	}
	for _, standard := range []string{"array", "memory", "vector"} {
		source += "#include <" + standard + ">\n"
	}
	cmd := exec.Command("g++", append(args, "-")...)
	cmd.Stdin = strings.NewReader(source)
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(output)
}

// TestMacrosOfHeadersAreReserved checks that names of macros are reserved, because the preprocessor replaces them
// everywhere.
func TestMacrosOfHeadersAreReserved(t *testing.T) {
	macros := regexp.MustCompile(`(?m)^#define (\w+)`).FindAllStringSubmatch(preprocess(t, "-dM", "-E"), -1)
	if len(macros) < 500 {
		t.Fatalf("only %d macros", len(macros))
	}
	for _, macro := range macros {
		name := macro[1]
		if names.Fault(name) == "" && names.ReservedBy(name, false) == "" {
			t.Errorf("a tensor may be called %s, which is a macro", name)
		}
		lower := strings.ToLower(name[:1]) + name[1:]
		if names.Class(lower) == name && names.Fault(lower) == "" && !refused(lower, "A") {
			t.Errorf("a program may be called %s, whose class is the macro %s", lower, name)
		}
	}
}

// TestHeadersAreReserved checks that names of system headers are reserved, because NAME.h of a program comes earlier in
// the include path.
func TestHeadersAreReserved(t *testing.T) {
	searched := regexp.MustCompile(`(?:^|/)(?:include|include/[\w-]+-linux-gnu|include/c\+\+/\d+)/(\w+)\.h$`)
	count := 0
	for word := range strings.FieldsSeq(preprocess(t, "-M")) {
		m := searched.FindStringSubmatch(word)
		if m == nil {
			continue
		}
		count++
		if !refused(m[1], "A") {
			t.Errorf("a program may be called %s, and its %[1]s.h hides that of the system", m[1])
		}
	}
	if count < 10 {
		t.Errorf("only %d headers", count)
	}
}

// TestReservationsAreNarrow checks that names that resemble reserved ones are allowed.
func TestReservationsAreNarrow(t *testing.T) {
	for _, name := range []string{"option", "my_tensor", "handles", "launch", "launch_words", "timer", "strings2", "maximum", "null_space"} {
		if refused(name, "A") {
			t.Errorf("no program may be called %s", name)
		}
	}
}
