package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// FindCommand returns the path of a program, found as a shell would. The error is an *EnvironmentError. If a file or
// folder of that name exists, the message says what to do instead.
func FindCommand(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	info, statErr := os.Stat(name)
	failure := &EnvironmentError{Err: err}
	switch {
	case statErr == nil && info.IsDir():
		failure.Message = fmt.Sprintf("%s is a folder; to run the program of an emitted folder: hirgen run %s", name, name)
	case statErr == nil && errors.Is(err, fs.ErrPermission):
		failure.Message = fmt.Sprintf("%s is not executable; make it so (chmod +x %s), or name what runs it, as in: -- python3 %s", name,
			name, name)
	case statErr == nil:
		failure.Message = fmt.Sprintf("%s is not on PATH; name it with its folder: ./%s", name, name)
	default:
		failure.Message = name + " was not found, neither as a path nor on PATH"
	}
	return "", failure
}
