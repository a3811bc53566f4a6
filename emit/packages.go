package emit

import (
	"slices"

	"github.com/hirgen/hirgen/emit/gopkg"
)

// Packages are the additional packages of a folder, which call the program from other languages.
type Packages struct {
	Go       bool
	GoModule string // path of the Go module; empty: a default that is not for publication
	Python   bool   // whether to emit the package for PyTorch
	Backward string // path of the spec of the gradient, relative to the folder; empty: no gradient
}

// Check reports an invalid module path.
func (p Packages) Check() error { return gopkg.CheckModule(p.GoModule) }

// flags returns the flags of hirgen emit that select the packages.
func (p Packages) flags() []string {
	var flags []string
	if p.Go {
		flags = append(flags, "--go")
	}
	if p.Go && p.GoModule != "" {
		flags = append(flags, "--go-module", p.GoModule)
	}
	if p.Python {
		flags = append(flags, "--python")
	}
	if p.Python && p.Backward != "" {
		flags = append(flags, "--backward", p.Backward)
	}
	return flags
}

// flags returns all flags of hirgen emit that were given with the spec, the flags of packages last.
func (o Options) flags() []string { return slices.Concat(o.Flags, o.Packages.flags()) }

// takePackages reads the flags of packages, and returns the other flags. Each other flag has a value.
func takePackages(flags []string) (p Packages, rest []string) {
	for i := 0; i < len(flags); i++ {
		value := ""
		if i+1 < len(flags) {
			value = flags[i+1]
		}
		switch flags[i] {
		case "--go":
			p.Go = true
			continue
		case "--python":
			p.Python = true
			continue
		case "--go-module":
			p.GoModule = value
		case "--backward":
			p.Backward = value
		default:
			rest = append(rest, flags[i:min(i+2, len(flags))]...)
		}
		i++
	}
	return p, rest
}

// packageFiles fills the view of the PyTorch package, and returns the files that packages add, except pythonOutputs.
func packageFiles(view *programView, opt Options) ([]File, error) {
	if err := opt.Packages.Check(); err != nil {
		return nil, err
	}
	var files []File
	if opt.Packages.Go {
		printed, err := goFiles(view)
		if err != nil {
			return nil, err
		}
		files = append(files, printed...)
	}
	if opt.Packages.Python {
		printed, err := pythonFiles(view, opt.Backward)
		if err != nil {
			return nil, err
		}
		files = append(files, printed...)
	}
	return files, nil
}
