package emit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ManifestName is the name of the file that lists the files of an emitted folder with their digests. A later run
// compares the digests to detect files that were edited.
const ManifestName = "hirgen.manifest.json"

// A manifest is the content of the file ManifestName.
type manifest struct {
	Hirgen  string         `json:"hirgen"` // version of hirgen
	Program string         `json:"program"`
	Spec    string         `json:"spec"`
	Ranks   int            `json:"ranks"`           // number of ranks of the program
	Flags   []string       `json:"flags,omitempty"` // flags of hirgen emit, without -o
	Files   []manifestFile `json:"files"`           // sorted by path; without the manifest itself
}

type manifestFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// withManifest sorts the files and adds their manifest. Two files with the same path are an error.
func withManifest(files []File, view *programView, flags []string) ([]File, error) {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	m := manifest{Hirgen: view.Version, Program: view.Name, Spec: view.Spec, Ranks: view.Ranks, Flags: flags}
	for i, f := range files {
		if i > 0 && files[i-1].Path == f.Path {
			return nil, fmt.Errorf("internal error: two files are named %s", f.Path)
		}
		m.Files = append(m.Files, manifestFile{f.Path, digest(f.Data)})
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(m); err != nil {
		return nil, err
	}
	return append(files, File{Path: ManifestName, Data: out.Bytes()}), nil
}

// parseManifest reads a manifest and refuses paths that leave the folder.
func parseManifest(data []byte) (*manifest, error) {
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", ManifestName, err)
	}
	for _, f := range m.Files {
		if !isLocal(f.Path) {
			return nil, fmt.Errorf("%s is damaged: %q is not a path inside the folder", ManifestName, f.Path)
		}
	}
	return &m, nil
}

// digests maps the path of each file to its digest. It is empty for a nil manifest.
func (m *manifest) digests() map[string]string {
	digests := map[string]string{}
	if m == nil {
		return digests
	}
	for _, f := range m.Files {
		digests[f.Path] = f.SHA256
	}
	return digests
}

// isLocal reports whether p is a clean relative path inside the folder, without backslashes and NUL bytes.
func isLocal(p string) bool {
	return p != "" && p != "." && path.Clean(p) == p && !path.IsAbs(p) && p != ".." && !strings.HasPrefix(p, "../") &&
		!strings.Contains(p, `\`) && !strings.ContainsRune(p, 0)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
