package verdict

import "time"

// Row names a cause that a verdict can have.
type Row struct {
	Cause    Cause
	Part     Part
	Severity Severity
}

// Table lists all causes, in causal order.
func Table() []Row {
	var out []Row
	for _, c := range causes() {
		out = append(out, Row{c.id, c.part, c.severity})
	}
	return out
}

// Measured are figures of facts that still hold; the zero value of one is not known.
type Measured struct {
	Answered    time.Time      // the newest answer of the service, of any age
	Certificate time.Time      // when the service's certificate ends
	Ahead       *time.Duration // by how much this host's clock is ahead of the service's
}

// Measure returns the figures of facts.
func Measure(f Facts) (m Measured) {
	for _, one := range f.Calls {
		if good := one.Value.Good; good.After(m.Answered) {
			m.Answered = good
		}
	}
	if c, known := f.Certificate.at(f.Now); known {
		m.Certificate = c.Until
	}
	if c, known := f.Clock.at(f.Now); known {
		m.Ahead = &c.Ahead
	}
	return m
}
