package emit

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/runtime_cpp"
)

// runtimeFolders are the folders of runtime_cpp that every emitted program gets, below runtime/.
var runtimeFolders = []string{"include", "src", "cpu", "cmake"}

// libraryFolder holds the cuDNN headers that attention needs, with their licences.
const libraryFolder = "third_party"

// runtimeSuffixes are the suffixes of the runtime's sources, headers and CMake files.
var runtimeSuffixes = []string{".hpp", ".h", ".cpp", ".cu", ".cuh", ".cmake", ".in"}

// uccFolder holds the code that calls UCC.
const uccFolder = "ucc"

// runtimeFiles returns copies of the runtime's files, of the headers for attention if the program computes attention,
// and of the code for UCC if the program calls UCC.
func runtimeFiles(view *programView) ([]File, error) {
	folders := slices.Clone(runtimeFolders)
	if view.Attends() {
		folders = append(folders, libraryFolder)
	}
	if view.Ucc() {
		folders = append(folders, uccFolder)
	}
	var files []File
	for _, folder := range folders {
		err := fs.WalkDir(runtime_cpp.FS, folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || folder != libraryFolder && !isRuntimeFile(path) {
				return err
			}
			data, err := fs.ReadFile(runtime_cpp.FS, path)
			files = append(files, File{Path: "runtime/" + path, Data: data})
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

// Sources lists the runtime's files below a folder that have a suffix, for CMake.
func (v *programView) Sources(folder, suffix string) []string {
	var list []string
	for _, f := range v.Runtime {
		if strings.HasPrefix(f.Path, folder+"/") && strings.HasSuffix(f.Path, suffix) {
			list = append(list, f.Path)
		}
	}
	return list
}
