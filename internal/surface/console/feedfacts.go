package console

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/api/elapsed"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/domain/verdict"
	"opdeck/ui"
)

// same compares two states, ignoring times left and ages.
func same(a, b session.Status) bool { return reflect.DeepEqual(still(a), still(b)) }

func still(s session.Status) session.Status {
	s.AsOf, s.Ahead = time.Time{}, s.Ahead.Round(time.Second)
	s.Access.Remaining, s.Refresh.Remaining = 0, 0
	s.LoginWait, s.RefreshWait = s.LoginWait.Round(time.Second), s.RefreshWait.Round(time.Second)
	s.Access.ExpiresAt, s.Refresh.ExpiresAt = s.Access.ExpiresAt.Round(time.Second), s.Refresh.ExpiresAt.Round(time.Second)
	s.NextRotation = s.NextRotation.Round(time.Second)
	s.Seen = slices.Clone(s.Seen)
	for i := range s.Seen {
		s.Seen[i].Ago = s.Seen[i].Ago.Round(10 * time.Second)
		s.Seen[i].SeenAt, s.Seen[i].Started = time.Time{}, time.Time{} // Started is estimated again at each read
	}
	return s
}

func rounded(u []limit.Usage) []limit.Usage {
	u = slices.Clone(u)
	for i := range u {
		u[i].NextSlot = float64(int(u[i].NextSlot))
		u[i].Blocked = u[i].Blocked.Round(time.Second)
		u[i].Changes, u[i].Goes = 0, 0
		u[i].Full, u[i].Refused = min(u[i].Full, 1), min(u[i].Refused, 1) // only whether
	}
	return u
}

func sessionFacts(st session.Status) ui.SessionFacts {
	state := st.State
	if st.Access.Dead && state == "doubtful" {
		state = "revoked"
	}
	return ui.SessionFacts{State: state, AccessUntil: st.Access.ExpiresAt.Add(-st.Ahead).Round(time.Second)}
}

func budgetFacts(u limit.Usage, now time.Time) ui.BudgetFacts {
	b := ui.BudgetFacts{Class: string(u.Class), Room: u.Room, Limit: u.Recommended, Throttled: u.Throttled}
	if u.Goes > 0 {
		b.Goes = now.Add(u.Goes)
	}
	if u.NextSlot > 0 {
		b.NextSlot = now.Add(time.Duration(u.NextSlot * float64(time.Second)))
	}
	return b
}

// callFacts is a line of the activity list for a call to service that enters its phase now. It words a failure like the
// finding and the notice about it.
func callFacts(c api.Call, service string, now time.Time) ui.CallFacts {
	f := ui.CallFacts{ID: c.ID, What: c.Op, Class: string(c.Class), Write: c.Write, Background: c.Background, At: c.At,
		Note: cmp.Or(verdict.Says(service, c.Fault), c.Error), Moved: c.Moved, Size: c.Size}
	switch {
	case c.Phase == api.CallWaits:
		f.Phase = ui.CallWaits
	case c.Phase == api.CallRuns:
		f.Phase, f.At = ui.CallRuns, now
		if !c.Ran.IsZero() {
			f.At = c.Ran
		}
	case c.Kind == "":
		f.Phase, f.At = ui.CallDone, c.At.Add(c.Took)
		f.Note = "answer " + strconv.Itoa(c.Status) + ", " + elapsed.Text(c.Took)
	case c.Write && c.Status == 0:
		f.Phase, f.At = ui.CallUnknown, c.At.Add(c.Took)
	default:
		f.Phase, f.At = ui.CallFailed, c.At.Add(c.Took)
	}
	return f
}
