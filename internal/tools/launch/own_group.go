package launch

import "os/exec"

// InOwnGroup makes a command that was given a context end with all that it started, where the context ends. It must not
// have been started.
func InOwnGroup(command *exec.Cmd) {
	command.SysProcAttr = groupAttributes()
	command.Cancel = func() error {
		killGroup(command.Process.Pid)
		return nil
	}
}
