package launch

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// ninjaStatus is the prefix of ninja's lines: the numbers of finished steps and of all steps.
const ninjaStatus = "[%f/%t] "

var (
	ninjaLine = regexp.MustCompile(`^\[(\d+)/(\d+)\] (.+)$`)
	cmakeLine = regexp.MustCompile(`^-- hirgen: (.+)$`) // a status message of the emitted CMake files
)

// tell reports the progress of the build.
func (b *builder) tell(done, all int, next string) {
	if b.Progress != nil {
		b.told = true
		b.Progress(done, all, next)
	}
}

// end reports the end of the build if any progress was reported.
func (b *builder) end() {
	if b.told {
		b.tell(0, 0, "")
	}
}

// steps reads the output of ninja and CMake and reports the steps in it.
type steps struct {
	tell    func(done, all int, next string)
	partial []byte
}

// Write implements io.Writer.
func (s *steps) Write(data []byte) (int, error) {
	s.partial = append(s.partial, data...)
	for {
		line, rest, whole := bytes.Cut(s.partial, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		s.line(strings.TrimRight(string(line), "\r"))
		s.partial = rest
	}
}

func (s *steps) line(text string) {
	if m := ninjaLine.FindStringSubmatch(text); m != nil {
		done, _ := strconv.Atoi(m[1])
		all, _ := strconv.Atoi(m[2])
		s.tell(done, all, stepName(m[3]))
	} else if m := cmakeLine.FindStringSubmatch(text); m != nil {
		s.tell(0, 0, m[1])
	}
}

// stepName shortens a line of ninja, mostly to the name of the file: "Building CXX object CMakeFiles/hirgen_x.dir/abi.cpp.o"
// becomes "abi.cpp".
func stepName(said string) string {
	words := strings.Fields(said)
	file := path.Base(words[len(words)-1])
	switch {
	case strings.HasPrefix(said, "Building "):
		name := strings.TrimSuffix(file, ".o")
		if strings.Contains(said, "_runtime.dir/") {
			return "runtime: " + name
		}
		return name
	case strings.HasPrefix(said, "Linking "):
		return "linking " + file
	case strings.HasPrefix(said, "Re-running CMake"):
		return "configuring"
	}
	return said
}
