package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hirgen/hirgen/internal/base/cache"
	"github.com/hirgen/hirgen/internal/base/filelock"
)

// runtimes returns the CMake setting that shares the compiled runtime, unless the caller sets it. If there is no cache
// folder, the runtime is compiled in the program's own folder, and runtimes reports that. If the folder is not
// writable, CMake reports it.
func (b *builder) runtimes() []string {
	for _, entry := range b.Cache {
		if name, _, _ := strings.Cut(entry, "="); name == cache.Variable || strings.HasPrefix(name, cache.Variable+":") {
			return nil
		}
	}
	folder, why := cache.Folder()
	if folder == "" {
		b.tell(0, 0, fmt.Sprintf("the runtime is compiled in %s for this program alone: %s", b.Dir, why))
		folder = cache.Off
	}
	return []string{cache.Variable + ":STRING=" + folder}
}

// hold locks the build folder until release is called.
func (b *builder) hold(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(b.folder, 0o755); err != nil {
		return nil, &EnvironmentError{Err: err, Message: fmt.Sprintf("making the build folder: %v", err)}
	}
	release, err = filelock.HoldPath(ctx, b.folder, func() { b.tell(0, 0, "waiting for another build of "+b.Dir) })
	if err != nil && ctx.Err() == nil {
		err = &EnvironmentError{Err: err, Message: fmt.Sprintf("locking the build folder: %v", err)}
	}
	return release, err
}

// holdRuntime locks the shared runtime that this build is about to compile. If another build has compiled it in the
// meantime, the folder is configured again to link it. It locks nothing if there is nothing to compile.
func (b *builder) holdRuntime(ctx context.Context) (release func(), err error) {
	settings, err := os.ReadFile(filepath.Join(b.folder, "CMakeCache.txt"))
	if err != nil {
		return nil, &EnvironmentError{Err: err, Message: err.Error()}
	}
	archive := cacheEntry(settings, "HIRGEN_RUNTIME_ARCHIVE")
	if archive == "" || exists(archive) {
		return func() {}, nil
	}
	release, err = filelock.HoldPath(ctx, archive+".lock", func() { b.tell(0, 0, "waiting for another build, which compiles the runtime") })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return func() {}, nil //nolint:nilerr // the cache's folder is gone: CMake makes it again, and puts only complete archives there
	case !exists(archive):
		return release, nil
	}
	if err := b.cmake(ctx, "configuring "+b.Dir, "-S", b.dir, "-B", b.folder); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// empty deletes the contents of the build folder. It keeps the folder itself, which is locked.
func (b *builder) empty() error {
	entries, err := os.ReadDir(b.folder)
	for _, entry := range entries {
		if err == nil {
			err = os.RemoveAll(filepath.Join(b.folder, entry.Name()))
		}
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
