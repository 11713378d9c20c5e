package verdict

import (
	"fmt"
	"strings"
	"time"

	"opdeck/internal/format"
)

// Cause names a row of the table.
type Cause string

// cause is a row of the table: the condition with its sentence, and what to do.
type cause struct {
	id       Cause
	part     Part
	severity Severity
	found    func(Facts) []hit
	explains []Part // findings about these parts follow from it
	next     Next
	who      Who
	dated    bool // its sentence has the time of Since
}

// hit is a cause that applies. next and who override those of the row.
type hit struct {
	says     string
	since    time.Time
	evidence []Evidence
	next     Next
	who      Who
}

// causes returns the table, in causal order: what is above can bring about what is below.
func causes() []cause {
	var out []cause
	for _, rows := range [][]cause{hostCauses(), storeCauses(), keyCauses(), clockCauses(), reachCauses(), loginCauses(),
		sessionCauses(), trailCauses(), feedCauses(), indexCauses()} {
		out = append(out, rows...)
	}
	return out
}

// of is a condition on one fact: says returns "" where it does not apply.
func of[T any](fact func(Facts) Fact[T], says func(Facts, T) (sentence, evidence string,
	since time.Time)) func(Facts) []hit {
	return func(f Facts) []hit {
		one := fact(f)
		value, known := one.at(f.Now)
		if !known {
			return nil
		}
		sentence, shows, since := says(f, value)
		if sentence == "" {
			return nil
		}
		if since.IsZero() {
			since = one.At
		}
		return []hit{{says: sentence, since: since, evidence: []Evidence{one.evidence(shows)}}}
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// moment is the time of day, with the day if that is not clear.
func moment(t, now time.Time) string {
	if now.Sub(t).Abs() > 20*time.Hour {
		return day(t)
	}
	return clock(t)
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func quoted(said string) string {
	if said == "" {
		return ""
	}
	return ` It says: "` + strings.TrimRight(said, ". ") + `".`
}

func span(d time.Duration) string {
	return format.Duration(d.Round(time.Second))
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
