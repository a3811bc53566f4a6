"""Draws the predicted timeline of a call as an SVG: one lane for each stream of rank 0, one box for each piece of work."""

from html import escape

width, left, lane, gap = 900, 150, 20, 5
# The kinds of work of a trace, each with its class in site.css; waits are left blank.
kinds = {"gemm": ("gemm", "GEMM"), "nccl": ("comm", "NCCL"), "copy": ("copy", "copy"), "kernel": ("kernel", "kernel")}


def draw(trace):
    """The drawing of a trace that "hirgen check --trace" wrote. Boxes tell what they are when pointed at."""
    own = [event for event in trace["traceEvents"] if event["pid"] == 0]
    work = [event for event in own if event["ph"] == "X" and event["cat"] in kinds]
    lanes = {event["tid"]: event["args"]["name"] for event in own if event["ph"] == "M" and event["name"] == "thread_name"}
    used = [tid for tid in lanes if any(event["tid"] == tid for event in work)]
    if not used:
        return "No stream of rank 0 has work of its own."
    call = trace["otherData"]["call_us"]
    height = len(used) * (lane + gap)
    parts = []
    for row, tid in enumerate(used):
        top = row * (lane + gap)
        parts.append(f'<text x="0" y="{top + 14}">{escape(short(lanes[tid]))}</text>')
        parts.append(f'<rect class="lane" x="{left}" y="{top}" width="{width - left}" height="{lane}"/>')
        for event in work:
            if event["tid"] == tid:
                parts.append(box(event, top, (width - left) / call))
    parts.append(f'<text x="{left}" y="{height + 14}">0</text>')
    parts.append(f'<text x="{width}" y="{height + 14}" text-anchor="end">{call:.0f} us</text>')
    parts.append(key(height + 4, {event["cat"] for event in work}))
    title = f"Timeline of rank 0: {len(work)} pieces of work on {len(used)} streams in {call:.0f} us"
    body = "".join(parts)
    return f'<div class="timeline"><svg viewBox="0 0 {width} {height + 20}" role="img" aria-label="{title}">{body}</svg></div>'


def box(event, top, scale):
    """One piece of work; its title is shown where a reader points at it."""
    where = f'{event["name"]}: {event["dur"]:.1f} us, {event["args"]["where"]}'
    return (
        f'<rect class="{kinds[event["cat"]][0]}" x="{left + event["ts"] * scale:.2f}" y="{top}"'
        f' width="{max(event["dur"] * scale - 1, 1):.2f}" height="{lane}"><title>{escape(where)}</title></rect>'
    )


def key(top, present):
    """Which color is what, in the middle below the lanes."""
    parts, x = [], left + 120
    for category, (style, label) in kinds.items():
        if category in present:
            parts.append(f'<rect class="{style}" x="{x}" y="{top}" width="10" height="10"/><text x="{x + 15}" y="{top + 10}">{label}</text>')
            x += 80
    return f'<g class="key">{"".join(parts)}</g>'


def short(stream):
    """The name of a stream, as it fits beside its lane."""
    return stream.replace("communicator, mesh world", "communicator")
