package emit

import (
	"slices"

	"github.com/hirgen/hirgen/emit/gopkg"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Packages are what a folder has beside the program, to call it from other languages.
type Packages struct {
	Go       bool
	GoModule string // path of its module; empty: one that is not published
}

// Check says what is wrong with them.
func (p Packages) Check() error { return gopkg.CheckModule(p.GoModule) }

// flags are those that ask hirgen emit for the packages.
func (p Packages) flags() []string {
	var flags []string
	if p.Go {
		flags = append(flags, "--go")
	}
	if p.Go && p.GoModule != "" {
		flags = append(flags, "--go-module", p.GoModule)
	}
	return flags
}

// flags are all that were given beside the spec's name.
func (o Options) flags() []string { return slices.Concat(o.Flags, o.Packages.flags()) }

// takePackages reads what flags wrote, and gives the other flags, which all have values.
func takePackages(flags []string) (p Packages, rest []string) {
	for len(flags) > 0 {
		switch {
		case flags[0] == "--go":
			p.Go = true
			flags = flags[1:]
			continue
		case len(flags) == 1:
			return p, append(rest, flags[0])
		case flags[0] == "--go-module":
			p.GoModule = flags[1]
		default:
			rest = append(rest, flags[:2]...)
		}
		flags = flags[2:]
	}
	return p, rest
}

// packageFiles prints the packages.
func packageFiles(p *hostir.Program, view *programView, opt Options) ([]File, error) {
	if err := opt.Packages.Check(); err != nil {
		return nil, err
	}
	var files []File
	if opt.Packages.Go {
		printed, err := goFiles(p, view)
		if err != nil {
			return nil, err
		}
		files = append(files, printed...)
	}
	return files, nil
}
