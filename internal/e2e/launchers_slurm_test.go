package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// slurmConf configures a cluster without accounts, keys and control groups, whose daemons run as this user.
const slurmConf = `ClusterName=test
SlurmctldHost=%[1]s(%[2]s)
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
SlurmUser=%[5]s
SlurmdUser=%[5]s
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/linear
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=%[6]s
SlurmdSpoolDir=%[6]s/%%n.spool
SlurmctldPidFile=%[6]s/slurmctld.pid
SlurmdPidFile=%[6]s/%%n.pid
SlurmctldLogFile=%[6]s/slurmctld.log
SlurmdLogFile=%[6]s/%%n.log
PartitionName=all Nodes=ALL Default=YES
`

// startSlurm starts a controller on the first of some hosts and a node on each, which end with the test, and waits
// until jobs can run. It returns the environment variable that clients need.
func startSlurm(t *testing.T, hosts ...host) string {
	t.Helper()
	needs(t, "slurmctld", "slurmd", "srun", "sinfo")
	dir := t.TempDir()
	conf := filepath.Join(dir, "slurm.conf")
	if err := os.WriteFile(conf, []byte(slurmConfOf(t, dir, hosts)), 0o600); err != nil {
		t.Fatal(err)
	}
	variable := "SLURM_CONF=" + conf
	daemon(t, variable, hosts[0].line("slurmctld", "-D", "-f", conf)...)
	for _, h := range hosts {
		daemon(t, variable, h.line("slurmd", "-D", "-N", h.name, "-f", conf)...)
	}
	want := strings.TrimSuffix(strings.Repeat("idle\n", len(hosts)), "\n")
	var states string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		line := hosts[0].line("sinfo", "--noheader", "--Node", "--format=%T")
		r := launched(t, []string{variable}, line[0], line[1:]...)
		if states = strings.TrimSpace(r.stdout); states == want {
			return variable
		}
	}
	logs, _ := exec.CommandContext(t.Context(), "sh", "-c", "tail -n 20 "+dir+"/*.log").CombinedOutput()
	t.Fatalf("the nodes are %q after half a minute:\n%s", states, logs)
	return ""
}

// slurmConfOf returns the configuration of a cluster of some hosts, with its files in a folder.
func slurmConfOf(t *testing.T, dir string, hosts []host) string {
	t.Helper()
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	ports, release, err := reserveTwo()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	text := fmt.Sprintf(slurmConf, hosts[0].name, hosts[0].address, ports[0], ports[1], who.Username, dir)
	for _, h := range hosts {
		text += fmt.Sprintf("NodeName=%s NodeAddr=%s CPUs=%d\n", h.name, h.address, runtime.NumCPU())
	}
	return text
}

// daemon starts a program and stops it at the end of the test.
func daemon(t *testing.T, variable string, line ...string) {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), variable)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		stopped := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer stopped.Stop()
		_ = cmd.Wait()
	})
}
