package cost

// GainError is how far a predicted ratio of the times of two schedules of one program is from the
// measured one, in half of the pairs that were measured: as a share. TestGains holds it against them.
const GainError = 0.025

// Gains reports whether a program is predicted to be faster than another one by more than the model
// may be wrong.
func (p *Prediction) Gains(over *Prediction) bool { return p.Total*(1+GainError) < over.Total }
