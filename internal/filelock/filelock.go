// Package filelock keeps other processes of this machine, and of what it shares a file system with, out of a
// file or folder for a while. The lock is the file's own: it goes when its holder ends in whatever way.
package filelock

import (
	"context"
	"os"
)

// Hold takes the lock of an open file or folder and keeps it until the file is closed. Where another one has
// it, waiting is called once, if it is given, and Hold waits until ctx is done; the error is then that of
// ctx. Where the file system or the operating system has no locks, held is false.
func Hold(ctx context.Context, file *os.File, waiting func()) (held bool, err error) {
	return hold(ctx, file, waiting)
}

// HoldPath opens a folder, or a file that it makes if there is none, and holds it until release is called.
func HoldPath(ctx context.Context, path string, waiting func()) (release func(), err error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		file, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644)
	}
	if err != nil {
		return nil, err
	}
	release = func() { _ = file.Close() }
	if _, err := Hold(ctx, file, waiting); err != nil {
		release()
		return nil, err
	}
	return release, nil
}
