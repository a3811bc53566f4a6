package gopkg

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hirgen/hirgen/model/domain"
)

// PackageName returns the Go package name of a program: its name in lower case and without underscores. It appends
// "program" if that name is a keyword of Go or in notPackages, ownFiles or localNames.
func PackageName(program string) string {
	name := strings.ToLower(strings.ReplaceAll(program, "_", ""))
	for _, list := range [][]string{notPackages, ownFiles, localNames} {
		if token.IsKeyword(name) || slices.Contains(list, name) {
			return name + "program"
		}
	}
	return name
}

// notPackages are names that have another meaning as a package or in a module path, and packages that the printed package
// imports. localNames has the other imports.
var notPackages = strings.Fields("internal vendor init example testdata unsafe reflect strconv time")

// ownFiles are the names, without ".go", of the Go files that a package may have next to its main file. Some are only
// in packages with a certain element type.
var ownFiles = strings.Fields("cgo program errors" + domain.Lacking)

// taken are the exported names of a package with all element types, other than tensors, and the exported methods of
// Program. The Go names of tensors must differ from them.
var taken = strings.Fields(`Close Code CodeDevice CodeEnvironment CodeInternal CodePeer CodeTimeout CodeUsage ErrClosed
	Error Open Options Program Run Status Tensor` + types + strings.ReplaceAll(types, " ", " To"))

// types has the Go names of the element types that Go lacks, each after a space.
var types = strings.ReplaceAll(strings.ToUpper(domain.Lacking), "_", "")

// moduleElement matches the characters of one element of a module path, between slashes.
var moduleElement = regexp.MustCompile(`^[A-Za-z0-9_~-]+(?:\.[A-Za-z0-9_~-]+)*$`)

// CheckModule returns an error if an element of a module path does not match moduleElement. It accepts an empty path,
// which stands for the default.
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

// tensorNames returns the Go names of tensors: exported, and with a number from 2 on if taken or an earlier tensor has the
// name.
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

// exported spells a name as an exported name of Go: w_gate -> WGate. It keeps only ASCII letters and digits. A name that
// is then empty or begins with a digit gets the prefix T.
func exported(name string) string {
	var out strings.Builder
	for part := range strings.FieldsFuncSeq(name, separatesWords) {
		out.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if text := out.String(); text != "" && !unicode.IsDigit(rune(text[0])) {
		return text
	}
	return "T" + out.String()
}

func separatesWords(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// variables returns the names of tensors, given their Go names, as local variables of a function that uses the package
// pkg. It appends "Tensor" to keywords and to names that are in use.
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

// localNames are the local names of the example other than tensors, and predeclared and package names of Go that a
// variable must not hide.
var localNames = strings.Fields(`p ctx err i element run main fill stop context errors fmt math os signal
	any append bool byte cap clear close comparable complex complex64 complex128 copy delete error false float32 float64 imag int int8 int16
	int32 int64 iota len make max min new nil panic print println real recover rune string true uint uint8 uint16 uint32 uint64 uintptr`)
