package launch

import "os/exec"

// InOwnGroup puts a command of exec.CommandContext into its own process group. When its context ends, the whole group
// is killed. Call InOwnGroup before the command starts.
func InOwnGroup(command *exec.Cmd) {
	command.SysProcAttr = groupAttributes()
	command.Cancel = func() error {
		killGroup(command.Process.Pid)
		return nil
	}
}
