package soak

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hirgen/hirgen/emit"
)

// packName returns the name of a program in a pack.
func packName(i int) string { return fmt.Sprintf("pack%d", i) }

// packKernels is the translation unit with the kernels of all programs of a pack but the first.
const packKernels = "pack_kernels.cpp"

// buildAll changes CMakeLists.txt of the first program: its library contains the kernels of all programs and exports
// their C ABIs. It is an error if the file lacks a line to change.
func buildAll(first []emit.File) error {
	name := "hirgen_" + packName(0)
	replaced := [][2]string{
		{"export_only(" + name + " " + name + "_*)", "export_only(" + name + " " + strings.TrimSuffix(name, "0") + "*)"},
		{"add_library(" + name + " SHARED ", "add_library(" + name + " SHARED " + packKernels + " "},
	}
	for i, file := range first {
		if file.Path != "CMakeLists.txt" {
			continue
		}
		for _, r := range replaced {
			if !bytes.Contains(first[i].Data, []byte(r[0])) {
				return fmt.Errorf("CMakeLists.txt has no line with %s", r[0])
			}
			first[i].Data = bytes.Replace(first[i].Data, []byte(r[0]), []byte(r[1]), 1)
		}
	}
	return nil
}

// joinPrograms adds programs to the emitted folder of the first one. The translation units of the first program include
// the units of the other programs, packKernels includes their kernels, and main.cpp chooses a program by its first
// argument.
func joinPrograms(dir string, programs [][]emit.File) error {
	var program, reference, abi, kernels, headers, table strings.Builder
	for i, files := range programs {
		name := packName(i)
		fmt.Fprintf(&headers, "#include \"%s.h\"\n", name)
		fmt.Fprintf(&table, "  if (name == \"%s\") return hirgen_%s_main(argc - 1, argv + 1);\n", name, name)
		if i == 0 {
			continue
		}
		for _, file := range files {
			to := file.Path
			switch file.Path {
			case name + ".h", name + ".hpp", name + "_kernels.hpp":
			case name + "_kernels.cu":
				fmt.Fprintf(&kernels, "#include \"%s\"\n", to)
			case name + ".cpp":
				fmt.Fprintf(&program, "#include \"%s\"\n", to)
			case name + "_across_nodes.cpp": // a separate unit, because it and NAME.cpp define the same names
				fmt.Fprintf(&abi, "#include \"%s\"\n", to)
			case "reference.cpp", "abi.cpp":
				to = name + "_" + file.Path
				fmt.Fprintf(map[string]*strings.Builder{"reference.cpp": &reference, "abi.cpp": &abi}[file.Path], "#include \"%s\"\n", to)
			default:
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, to), file.Data, 0o600); err != nil {
				return err
			}
		}
	}
	main := "#include <string>\n\n" + headers.String() +
		"\nint main(int argc, char** argv) {\n  const std::string name = argc > 1 ? argv[1] : \"\";\n" +
		table.String() + "  return 2;\n}\n"
	return cmp.Or(
		extend(filepath.Join(dir, packName(0)+".cpp"), program.String()),
		extend(filepath.Join(dir, "reference.cpp"), reference.String()),
		extend(filepath.Join(dir, "abi.cpp"), abi.String()),
		os.WriteFile(filepath.Join(dir, packKernels), []byte(kernels.String()), 0o600),
		os.WriteFile(filepath.Join(dir, "main.cpp"), []byte(main), 0o600))
}

// extend appends text to a file.
func extend(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return cmp.Or(err, file.Close())
}

// compilerError returns the first error in the output of a compiler, or "the build failed".
func compilerError(output string) string {
	for line := range strings.Lines(output) {
		if _, message, found := strings.Cut(line, "error: "); found {
			return strings.TrimSpace(message)
		}
	}
	return "the build failed"
}
