#!/usr/bin/env python3
"""Samples the clocks, power and temperature of this machine's GPUs until its standard input ends. It changes no setting.

    scripts/bench_gpu/watch.py FILE [--every 0.02]

Each line of FILE is an object with t and gpus. t is in seconds of the monotonic clock, which all processes of a machine share. gpus
is a list of {sm, mem: clocks in MHz; watts: current power; celsius: temperature; reasons: NVML's bits for reduced clocks}.
It needs the Python package nvidia-ml-py.
"""
import argparse
import json
import select
import sys
import time

INSTANT_POWER = 186  # NVML_FI_DEV_POWER_INSTANT, the power at this moment; NVML's default is a mean over a second


class Gpus:
    """The GPUs, read by NVML."""

    def __init__(self):
        import pynvml  # imported here so that the module loads without it

        self.nvml = pynvml
        pynvml.nvmlInit()
        self.handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]

    def watts(self, handle):
        """The current power of a GPU, or its mean over a second if NVML does not report the current value."""
        value = self.nvml.nvmlDeviceGetFieldValues(handle, [INSTANT_POWER])[0]
        if value.nvmlReturn == 0:
            return value.value.uiVal / 1e3
        return self.nvml.nvmlDeviceGetPowerUsage(handle) / 1e3

    def one(self, handle):
        """A sample of a GPU."""
        n = self.nvml
        return {"sm": n.nvmlDeviceGetClockInfo(handle, n.NVML_CLOCK_SM), "mem": n.nvmlDeviceGetClockInfo(handle, n.NVML_CLOCK_MEM),
                "watts": self.watts(handle), "celsius": n.nvmlDeviceGetTemperature(handle, n.NVML_TEMPERATURE_GPU),
                "reasons": n.nvmlDeviceGetCurrentClocksThrottleReasons(handle)}

    def sample(self):
        """A sample of each GPU."""
        return [self.one(handle) for handle in self.handles]


def main():
    """Samples until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--every", type=float, default=0.02, help="seconds")
    args = parser.parse_args()
    gpus = Gpus()
    with open(args.file, "w", encoding="utf-8") as file:
        due = time.monotonic()
        while True:
            file.write(json.dumps({"t": time.monotonic(), "gpus": gpus.sample()}) + "\n")
            file.flush()
            due = max(due + args.every, time.monotonic())
            if select.select([sys.stdin], [], [], max(0, due - time.monotonic()))[0]:
                return


if __name__ == "__main__":
    main()
