package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildOptions describes a build.
type BuildOptions struct {
	Dir     string    // an emitted folder
	Device  Device    // CPU or CUDA, never Auto
	Cache   []string  // CMake cache entries, "HIRGEN_SANITIZE=thread"; ignored if the build folder is already configured
	Folder  string    // build folder; empty means the preset's, build/<device> in Dir
	Verbose io.Writer // receives the output of the tools; nil: a failure returns it as EnvironmentError.Output
	// Progress, if not nil, is called with the number of finished steps, the number of all steps (0 if not yet known),
	// and the next step. An empty next marks the end of the build. It is not called if there is nothing to do or to wait
	// for. With Verbose, it is not called for the steps of the tools.
	Progress func(done, all int, next string)
}

// Build configures the folder if necessary, builds its program and returns the program's path. Builds in the same
// folder run one after the other. So do builds that compile the same runtime for the same cache, by default the
// cache of package cache. Missing tools and failures of the compiler are an
// *EnvironmentError. If ctx ends, Build returns its error.
func Build(ctx context.Context, options BuildOptions) (string, error) {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "CMakePresets.json")); err != nil {
		return "", &EnvironmentError{Err: err, Message: fmt.Sprintf(
			"%s is not an emitted folder (it has no CMakePresets.json); make one with: hirgen emit SPEC -o %s",
			options.Dir, options.Dir)}
	}
	if err := checkTools(options.Device); err != nil {
		return "", err
	}
	b := builder{BuildOptions: options, dir: dir, folder: filepath.Join(dir, "build", string(options.Device))}
	if options.Folder != "" {
		if b.folder, err = filepath.Abs(options.Folder); err != nil {
			return "", err
		}
	}
	release, err := b.hold(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	defer b.end()
	if err := b.configure(ctx); err != nil {
		return "", err
	}
	release, err = b.holdRuntime(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	if err := b.cmake(ctx, "building "+options.Dir, "--build", b.folder); err != nil {
		return "", err
	}
	return b.program()
}

type builder struct {
	BuildOptions
	dir, folder string // absolute paths of the emitted folder and the build folder
	told        bool   // whether progress was reported
}

// configure runs CMake's configuration unless there is a usable one. A folder that was moved or copied has a cache with
// wrong paths, and is configured afresh.
func (b *builder) configure(ctx context.Context) error {
	cache, err := os.ReadFile(filepath.Join(b.folder, "CMakeCache.txt"))
	_, ninjaErr := os.Stat(filepath.Join(b.folder, "build.ninja"))
	home := cacheEntry(cache, "CMAKE_HOME_DIRECTORY")
	switch {
	case err == nil && ninjaErr == nil && home == b.dir:
		return nil
	case err == nil && home != b.dir:
		if err := b.empty(); err != nil {
			return &EnvironmentError{Err: err, Message: fmt.Sprintf("clearing the build folder of another place: %v", err)}
		}
	}
	args := []string{"--preset", string(b.Device), "-B", b.folder}
	for _, entry := range append(b.runtimes(), b.Cache...) {
		args = append(args, "-D"+entry)
	}
	b.tell(0, 0, "configuring "+b.Dir)
	return b.cmake(ctx, "configuring "+b.Dir, args...)
}

// cmake runs one CMake command in the emitted folder.
func (b *builder) cmake(ctx context.Context, doing string, args ...string) error {
	cmd := exec.CommandContext(ctx, "cmake", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "NINJA_STATUS="+ninjaStatus)
	if compiler := nvcc(); b.Device == CUDA && compiler != "" {
		cmd.Env = append(cmd.Env, "CUDACXX="+compiler)
	}
	var output bytes.Buffer
	cmd.Stdout = io.MultiWriter(&output, &steps{tell: b.tell})
	if b.Verbose != nil {
		cmd.Stdout = io.MultiWriter(&output, b.Verbose)
	}
	cmd.Stderr = cmd.Stdout
	err := runInOwnGroup(cmd)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	message := fmt.Sprintf("%s for %s failed", doing, b.Device)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		message += ": " + err.Error()
	}
	failure := &EnvironmentError{Message: message, Err: err}
	if b.Verbose == nil {
		failure.Output = output.String()
	}
	return failure
}

// program returns the path of the executable, which has the name of the project, or an error if there is none.
func (b *builder) program() (string, error) {
	cache, err := os.ReadFile(filepath.Join(b.folder, "CMakeCache.txt"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.folder, cacheEntry(cache, "CMAKE_PROJECT_NAME"))
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "", &EnvironmentError{Err: err, Message: fmt.Sprintf("the build of %s made no program %s", b.Dir, path)}
	}
	return path, nil
}

// cacheEntry returns the value of a "NAME:TYPE=VALUE" line of a CMakeCache.txt, or "" if there is none.
func cacheEntry(cache []byte, name string) string {
	for line := range strings.Lines(string(cache)) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if ok && strings.HasPrefix(key, name+":") {
			return value
		}
	}
	return ""
}
