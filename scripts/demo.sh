#!/usr/bin/env bash
# Follows one spec through every stage: the spec, the derived communication, the host
# program, the emitted source, the checked run.
source "$(dirname "$0")/common.sh"

device="${1:-cpu}"
spec=testdata/specs/ag_matmul/spec.yaml
out=build/demo/ag_matmul
sizes=(-p M=256 -p N=256 -p K=256)
ranks=4
if [ "$device" = cuda ]; then
  # The largest power of two that is at most the number of GPUs: it divides the sizes of the spec.
  gpus=$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' | wc -l)
  [ "$gpus" -gt 0 ] || die "no NVIDIA GPU on this machine; try: make demo"
  for ((ranks = 1; ranks * 2 <= gpus; ranks *= 2)); do :; done
  sizes=(-p "D=$ranks")
fi

# show prints a command as a user would type it, and runs it.
show() {
  printf '\n$ %s\n' "${*/#bin\/hirgen/hirgen}"
  "$@"
}

heading() { printf '\n--- %s ---\n' "$*"; }

heading "1. The spec says what is wanted: tensors, where they live, one product"
cat "$spec"

heading "2. hirgen derives what has to move between the ranks"
show bin/hirgen check "$spec" "${sizes[@]}"

heading "3. Passes turn the product of whole tensors into a pipeline over streams"
# Prints the passes that changed this program, with their descriptions from "hirgen passes".
bin/hirgen lower "$spec" "${sizes[@]}" --dump-after=all 2>&1 >/dev/null |
  sed -n 's/^# after \(.*\): changed$/\1/p' | while read -r pass; do
  bin/hirgen passes | sed -n "s/^ *[0-9]*\. \($pass\)  *\(required\|optional\)  \(.*\)/\1\t\3/p"
done | expand -t 30 | sed 's/^/  /'
printf '\nhirgen lower --dump-after=PASS shows the program after each; hirgen passes lists all of them.\n'

heading "4. The host program: what each rank's process issues, one statement a line"
show bin/hirgen lower "$spec" "${sizes[@]}"

heading "5. Emitted: the same statements as CUDA, NCCL and cuBLASLt calls"
show bin/hirgen emit "$spec" -o "$out" "${sizes[@]}"
printf '\nThe work loop in %s:\n\n' "$out/ag_matmul.cpp"
awk '/::run\(|::issue\(/ {inside = 1} inside && /for \(int64_t/ {loops++} loops >= 2 {print} loops >= 2 && /^  }$/ {exit}' \
  "$out/ag_matmul.cpp"

heading "6. Built and run on $ranks ranks, one process each; every element of the result is checked"
[ "$device" = cpu ] && cat <<'TXT'
The CPU device stands in for the GPUs: the same sources, one thread per stream, real
processes. Its times say nothing of a GPU's.
TXT
show bin/hirgen run "$out" -n "$ranks" --device "$device"

[ "$device" = cpu ] && show bin/hirgen run "$out" -n "$ranks" --device cpu --seed 7 && cat <<'TXT'

--seed picked another order of execution among those that streams and events allow. A
missing synchronisation would have shown as wrong elements.
TXT

cat <<TXT

Next:
  bin/hirgen lower $spec --schedule reference --schedule initial_waits=fused     the same pipeline without its first loop: serial
  bin/hirgen emit $spec -o out -p S=8; bin/hirgen run out     other sizes: -p; mind the time
  less $out/ag_matmul.cpp     the program, with the line of the spec beside every call
TXT
