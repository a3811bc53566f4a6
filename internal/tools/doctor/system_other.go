//go:build !linux

package doctor

import "errors"

// systemLimits returns 0 and freeSpace an error, because emitted programs run only on Linux.
func systemLimits() (files, locked uint64) { return 0, 0 }

func freeSpace(string) (bytes uint64, err error) { return 0, errors.ErrUnsupported }
