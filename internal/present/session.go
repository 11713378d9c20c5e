package present

import (
	"fmt"
	"time"

	"opdeck/api/session"
	"opdeck/internal/format"
)

// SessionPair is the token pair of a session: whose it is, who made it, and when it is replaced. Times are the store's.
func SessionPair(o Options, s session.Status) []Fact {
	out := []Fact{{Label: "account", Value: safe(s.Account, 120)}, {Label: "service", Value: safe(s.BaseURL, 120)},
		{Label: "generation", Value: fmt.Sprint(s.Generation)}}
	if s.From != "" {
		out = append(out, Fact{Label: "made by", Value: fmt.Sprintf("%s on %s, process %d", safe(string(s.From), 120),
			safe(s.By.Host, 120), s.By.PID)})
	}
	if !s.NextRotation.IsZero() {
		out = append(out, Fact{Label: "next refresh", Value: o.clock(s.NextRotation)})
	}
	if h := s.Holder; h != nil {
		out = append(out, Fact{Label: "refresh in progress", Value: fmt.Sprintf("%s, process %d", safe(h.Host, 120), h.PID),
			Tone: Info})
	}
	for _, b := range []struct {
		label string
		wait  time.Duration
	}{{"logins wait", s.LoginWait}, {"refreshes wait", s.RefreshWait}} {
		if b.wait > 0 {
			out = append(out, Fact{Label: b.label, Value: Countdown(b.wait), Tone: Warn})
		}
	}
	return out
}

// SessionCounts is what happened to the session since the store has it.
func SessionCounts(c session.Counts) []Fact {
	return []Fact{{Label: "logins", Value: fmt.Sprint(c.Logins)}, {Label: "refreshes", Value: fmt.Sprint(c.Refreshes)},
		{Label: "401 answers", Value: fmt.Sprint(c.Unauthorized)}, {Label: "revoked", Value: fmt.Sprint(c.Premature)}}
}

// SessionCountsLine is SessionCounts where there is one line for them.
func SessionCountsLine(c session.Counts) Fact {
	return Fact{Label: "counts", Long: true, Value: fmt.Sprintf("%s, %s, %s, %d revoked",
		format.Plural(int(c.Logins), "login", "logins"), format.Plural(int(c.Refreshes), "refresh", "refreshes"),
		format.Plural(int(c.Unauthorized), "answer 401", "answers 401"), c.Premature)}
}

// Countdown is a length of time to the second: "2:30", "1:02:30".
func Countdown(d time.Duration) string {
	d = d.Round(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// clock is the time of day; with the day where no zone is known to whoever reads it.
func (o Options) clock(t time.Time) string {
	if o.Zone == nil {
		return format.Time(t, nil)
	}
	return format.Clock(t, o.Zone)
}
