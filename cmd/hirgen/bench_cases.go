package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hirgen/hirgen/internal/tools/bench"
)

// listedCase is an entry of a file of --cases.
type listedCase struct {
	Name     string           `json:"name"`
	Spec     string           `json:"spec"` // path from the folder of the file, unless it is absolute
	Params   map[string]int64 `json:"params"`
	Schedule []string         `json:"schedule"` // values of --schedule
}

// readCases reads a file of --cases: programs of one problem, which has the file's name without extension.
// An invalid or empty list is a usage error.
func readCases(path string) ([]bench.Case, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var listed []listedCase
	in := json.NewDecoder(file)
	in.DisallowUnknownFields()
	if err := in.Decode(&listed); err != nil {
		return nil, usagef("--cases %s: %v", path, err)
	}
	var cases []bench.Case
	names := map[string]bool{}
	for i, c := range listed {
		if c.Name == "" || c.Spec == "" || names[c.Name] {
			return nil, usagef("--cases %s: entry %d needs a spec, and a name that no other one has", path, i+1)
		}
		names[c.Name] = true
		settings, err := parseSchedule(c.Schedule)
		if err != nil {
			return nil, fmt.Errorf("%s of --cases %s: %w", c.Name, path, err)
		}
		if !filepath.IsAbs(c.Spec) {
			c.Spec = filepath.Join(filepath.Dir(path), c.Spec)
		}
		cases = append(cases, bench.Case{
			Spec: c.Spec, Params: c.Params, Settings: settings, Label: c.Name,
			Group: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)),
		})
	}
	if len(cases) == 0 {
		return nil, usagef("--cases %s lists nothing", path)
	}
	return cases, nil
}
