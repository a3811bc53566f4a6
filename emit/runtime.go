package emit

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/runtime_cpp"
)

// runtimeFolders maps the folders of runtime_cpp that an emitted program needs to
// where they go. Every program gets the whole core: it is small, it compiles in
// seconds, and a reader finds the same files in every folder.
var runtimeFolders = []struct{ from, to string }{
	{"include", "runtime/include"},
	{"src", "runtime/src"},
	{"cpu", "runtime/cpu"},
	{"cmake", "runtime/cmake"},
}

// runtimeSuffixes are the files of the runtime that are compiled or included, or that CMake reads.
var runtimeSuffixes = []string{".hpp", ".h", ".cpp", ".cu", ".cuh", ".cmake", ".in"}

// runtimeFiles copies the runtime, sorted by path.
func runtimeFiles() ([]File, error) {
	var files []File
	for _, folder := range runtimeFolders {
		err := fs.WalkDir(runtime_cpp.FS, folder.from, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !isRuntimeFile(path) {
				return err
			}
			data, err := fs.ReadFile(runtime_cpp.FS, path)
			files = append(files, File{Path: folder.to + strings.TrimPrefix(path, folder.from), Data: data})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func isRuntimeFile(path string) bool {
	return slices.ContainsFunc(runtimeSuffixes, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
}

// Sources lists the runtime's translation units below a folder, for CMake.
func (v *programView) Sources(folder, suffix string) []string {
	var list []string
	for _, f := range v.Runtime {
		if strings.HasPrefix(f.Path, folder+"/") && strings.HasSuffix(f.Path, suffix) {
			list = append(list, f.Path)
		}
	}
	return list
}
