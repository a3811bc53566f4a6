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

// runInOwnGroup runs a command of exec.CommandContext in its own process group. When its context ends, the group gets
// SIGTERM. ninja then ends its compilers, each of which has another group, and removes the files that they left half
// written. Once the command has ended, after killDelay at the latest, runInOwnGroup kills the rest of the group.
func runInOwnGroup(command *exec.Cmd) error {
	stopped := false
	command.SysProcAttr = groupAttributes()
	command.WaitDelay, command.Cancel = killDelay, func() error {
		stopped = true
		terminateGroup(command.Process.Pid)
		return nil
	}
	err := command.Run()
	if stopped {
		killGroup(command.Process.Pid)
	}
	return err
}
