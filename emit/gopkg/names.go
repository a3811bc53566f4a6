package gopkg

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// PackageName is the name of a program as Go names packages: in lower case, without underscores.
func PackageName(program string) string {
	name := strings.ToLower(strings.ReplaceAll(program, "_", ""))
	for _, list := range [][]string{notPackages, ownFiles, localNames} {
		if token.IsKeyword(name) || slices.Contains(list, name) {
			return name + "program"
		}
	}
	return name
}

// notPackages are names that Go gives another meaning as those of packages or in paths of modules, and of packages that this one uses.
var notPackages = strings.Fields("internal vendor init example testdata unsafe reflect strconv time")

// ownFiles are the files beside the one that has the package's name.
var ownFiles = strings.Fields("cgo program errors bf16 fp16")

// taken are the exported names of the package, and the methods of Program, that tensors do not get.
var taken = strings.Fields(`BF16 Close Code CodeDevice CodeEnvironment CodeInternal CodePeer CodeTimeout CodeUsage ErrClosed
	Error FP16 Open Options Program Run Status Tensor ToBF16 ToFP16`)

// moduleElement is what a path of a module has between slashes.
var moduleElement = regexp.MustCompile(`^[A-Za-z0-9_~-]+(?:\.[A-Za-z0-9_~-]+)*$`)

// CheckModule says what is wrong with the path of a module; an empty one stands for the default.
func CheckModule(path string) error {
	if path == "" {
		return nil
	}
	for element := range strings.SplitSeq(path, "/") {
		if !moduleElement.MatchString(element) {
			return fmt.Errorf("%q is not the path of a Go module, as example.com/project/layer is", path)
		}
	}
	return nil
}

// tensorNames are the names of tensors in Go: exported, and with a number where they are taken.
func tensorNames(tensors []Tensor) []string {
	var names []string
	for _, t := range tensors {
		want := exported(t.Name)
		name := want
		for n := 2; slices.Contains(taken, name) || slices.Contains(names, name); n++ {
			name = want + strconv.Itoa(n)
		}
		names = append(names, name)
	}
	return names
}

// exported spells a name as Go does: w_gate -> WGate. Of other text it keeps letters and digits.
func exported(name string) string {
	var out strings.Builder
	for part := range strings.FieldsFuncSeq(name, isBetweenWords) {
		out.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if text := out.String(); text != "" && !unicode.IsDigit(rune(text[0])) {
		return text
	}
	return "T" + out.String()
}

func isBetweenWords(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// variables are the names of tensors as variables of a function that uses the package.
func variables(names []string, pkg string) []string {
	var list []string
	for _, name := range names {
		variable := strings.ToLower(name[:1]) + name[1:]
		for token.IsKeyword(variable) || variable == pkg || slices.Contains(localNames, variable) || slices.Contains(list, variable) {
			variable += "Tensor"
		}
		list = append(list, variable)
	}
	return list
}

// localNames are those that the example has of its own, and names of Go that a reader takes for what they are.
var localNames = strings.Fields(`p ctx err i element run main fill stop context errors fmt math os signal
	any append bool byte cap clear close comparable complex complex64 complex128 copy delete error false float32 float64 imag int int8 int16
	int32 int64 iota len make max min new nil panic print println real recover rune string true uint uint8 uint16 uint32 uint64 uintptr`)
