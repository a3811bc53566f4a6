package timeline

// setLanes assigns overlapping slices of a track to different rows: each to the first free row.
func (t *Track) setLanes() {
	var free []Time
	for _, s := range t.Slices {
		s.Lane = len(free)
		for lane, from := range free {
			if from <= s.Begin {
				s.Lane = lane
				break
			}
		}
		if s.Lane == len(free) {
			free = append(free, 0)
		}
		free[s.Lane] = s.End
	}
	t.Lanes = len(free)
}
