//go:build !linux

package doctor

import "errors"

// systemLimits are unknown where emitted programs do not run, and freeSpace, too.
func systemLimits() (files, locked uint64) { return 0, 0 }

func freeSpace(string) (bytes uint64, err error) { return 0, errors.ErrUnsupported }
