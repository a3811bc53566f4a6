package doctor

import (
	"fmt"
	"strings"
)

// gpus checks the driver, the GPUs and their links, as nvidia-smi reports them.
func (e *examination) gpus() {
	const group = "GPUs"
	smi, err := e.LookPath("nvidia-smi")
	output := ""
	if err == nil {
		output, err = e.Run(e.ctx, smi, "--query-gpu=name,compute_cap,memory.total,driver_version,mig.mode.current", "--format=csv,noheader")
	}
	driver := Check{Name: "driver", OK: err == nil, Path: smi, needed: forGPUs, Without: "programs run on the CPU device only",
		Install: "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide"}
	var gpus []string
	mig := false
	for line := range strings.Lines(output) {
		if f := strings.Split(strings.TrimSpace(line), ", "); err == nil && len(f) == 5 {
			gpus = append(gpus, fmt.Sprintf("%s, compute capability %s, %s", f[0], f[1], f[2]))
			driver.Version, mig = f[3], mig || f[4] == "Enabled"
		}
	}
	e.report.GPUs = len(gpus)
	e.add(group, driver)
	e.add(group, Check{Name: "GPUs", OK: len(gpus) > 0, Note: alike(gpus), needed: forGPUs, Without: "programs run on the CPU device only"})
	if len(gpus) > 0 {
		e.add(group, Check{
			Name: "MIG", OK: !mig, Note: map[bool]string{true: "on", false: "off"}[mig],
			Without: "NCCL and CUDA IPC do not join parts of one GPU, and a rank needs a GPU of its own", Install: "sudo nvidia-smi -mig 0",
		})
	}
	if len(gpus) > 1 {
		e.joined(group, smi)
	}
}

// joined checks peer access and NVLink between the GPUs.
func (e *examination) joined(group, smi string) {
	peers := Check{Name: "peer access", Without: "pairs without it exchange by NCCL, not by CUDA IPC (transport: auto does that by itself)"}
	if output, err := e.Run(e.ctx, smi, "topo", "-p2p", "r"); err == nil {
		peers.pairs(matrix(output), func(cell string) bool { return cell == "OK" })
	}
	e.add(group, peers)
	links := Check{Name: "NVLink", Without: "transfers go over PCIe: the predictions and what schedule: auto measured are of NVLink"}
	if output, err := e.Run(e.ctx, smi, "topo", "-m"); err == nil {
		links.pairs(matrix(output), func(cell string) bool { return strings.HasPrefix(cell, "NV") })
	}
	e.add(group, links)
}

// matrix returns the cells of nvidia-smi topo for the pairs of GPUs, two cells for each pair.
func matrix(output string) (cells []string) {
	rows := [][]string{}
	for line := range strings.Lines(output) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "GPU") && !strings.HasPrefix(f[1], "GPU") {
			rows = append(rows, f[1:])
		}
	}
	for i, row := range rows {
		for j, cell := range row[:min(len(rows), len(row))] {
			if i != j {
				cells = append(cells, cell)
			}
		}
	}
	return cells
}

// pairs notes how many pairs of GPUs have cells that satisfy the function holds. The check is OK if there are pairs and
// all cells satisfy it. Each pair has two cells.
func (c *Check) pairs(cells []string, holds func(cell string) bool) {
	n := 0
	for _, cell := range cells {
		if holds(cell) {
			n++
		}
	}
	c.OK = n > 0 && n == len(cells)
	c.Note = fmt.Sprintf("%d of %d pairs", n/2, len(cells)/2)
}

// alike joins a list and counts equal neighbours: "2 x NVIDIA H100".
func alike(list []string) string {
	var parts []string
	for rest := list; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n] == rest[0] {
			n++
		}
		parts = append(parts, fmt.Sprintf("%d x %s", n, rest[0]))
		rest = rest[n:]
	}
	return strings.Join(parts, "; ")
}
