#!/usr/bin/env bash
# Runs an emitted program under several launchers on the CPU device. It installs missing launchers from Debian's
# packages, and lists at the end which launchers ran and why others did not. torchrun runs only if PyTorch is already
# installed, since PyTorch is too large to install for this alone.
source "$(dirname "$0")/common.sh"

for needed in mpirun:openmpi-bin mpiexec.hydra:mpich slurmctld:slurmctld slurmd:slurmd srun:slurm-client ip:iproute2; do
  command -v "${needed%%:*}" >/dev/null && continue
  say "installing ${needed#*:}"
  apt_install "${needed#*:}" || say "could not install ${needed#*:}: tests that need it are left out"
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
result=0
go test ./internal/e2e -count=1 -v -run '^(TestLaunchersForReal|TestTwoHosts|TestSlurmOnTwoHosts)$' 2>&1 | tee "$log" || result=$?
say "summary"
grep -E '^ +--- |_test.go:[0-9]+: .*(installed|root|namespace)|^--- ' "$log" | sed -E 's/^ +//'
exit "$result"
