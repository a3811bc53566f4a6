// Package filelock locks a file or folder against other processes that lock it, on this machine and, if the file system
// supports that, on others. The operating system releases the lock when the process that holds it ends, even if it crashes.
// On other systems than Linux there are no locks.
package filelock

import (
	"context"
	"os"
)

// Hold locks an open file or folder until the file is closed. If the lock is taken, by another process or through another
// open file, Hold calls waiting once, if it is not nil, and waits for the lock. If ctx is done first, it returns the error
// of ctx. If the system cannot lock the file, for example because its file system has no locks, held is false and err is nil.
func Hold(ctx context.Context, file *os.File, waiting func()) (held bool, err error) {
	return hold(ctx, file, waiting)
}

// HoldPath opens a folder, or a file that it creates if missing, and locks it until release is called. If the system
// cannot lock the file, HoldPath succeeds without a lock.
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
