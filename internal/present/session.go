package present

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/domain/presence"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// The times of a session are the store's, and so is Options.Now wherever one is presented; those of its borrowers are
// their host's.

// Life is what is left of a token.
type Life struct {
	Token string // "access" or "refresh"
	Left  time.Duration
	TTL   time.Duration // what it had at first; 0: there is no token
	Tone  Tone
	Says  string // "2m 30s of 5m", "2m 30s of 5m (assumed)", "expired", "revoked" or "none"
	Until string // "until 12:02:30 UTC", or "at 12:02:30 UTC" where it is over; "": there is no token
}

// SessionLives are what is left of the access and the refresh token.
func SessionLives(o Options, s session.Status) []Life {
	return []Life{life(o, "access", s.Access), life(o, "refresh", s.Refresh)}
}

func life(o Options, token string, l session.Lifetime) Life {
	if l.ExpiresAt.IsZero() {
		return Life{Token: token, Tone: Dim, Says: "none"}
	}
	out := Life{Token: token, Left: max(l.ExpiresAt.Sub(o.Now), 0), TTL: l.TTL, Tone: Good}
	out.Says, out.Until = Countdown(out.Left)+" of "+Countdown(l.TTL), "until "+o.hour(l.ExpiresAt)
	if l.Assumed {
		out.Says += " (assumed)"
	}
	switch {
	case l.Dead:
		out.Left, out.Says = 0, "revoked"
	case out.Left == 0:
		out.Says = "expired"
	case out.Left < l.TTL/5:
		out.Tone = Warn
	}
	if out.Left == 0 {
		out.Tone, out.Until = Bad, "at "+o.hour(l.ExpiresAt)
	}
	return out
}

// Line says it in words: "2:30 of 5:00 left, until 12:02:30".
func (l Life) Line() string {
	switch {
	case l.Until == "":
		return l.Says
	case l.Left == 0:
		return l.Says + " " + l.Until
	}
	return l.Says + " left, " + l.Until
}

// SessionState is the state of a session in the words of the screens; safe to draw.
func SessionState(o Options, s session.Status) string {
	switch {
	case s.State == "live" && !s.Refused.IsZero():
		return "refused"
	case s.State == "live" && !s.Access.ExpiresAt.After(o.Now):
		return "expired"
	case s.State == "live":
		return "OK, tokens are valid"
	case s.State == "none":
		return "no tokens"
	case s.State == "blocked":
		return "login blocked"
	case s.State == "rotating":
		return "refreshing"
	case s.State == "doubtful":
		return "in doubt"
	}
	return safe(s.State, 20)
}

// SessionPair is the token pair of a session: whose it is, who made it, and when it is replaced.
func SessionPair(o Options, s session.Status) []Fact {
	generation := "generation"
	if s.State == "none" {
		generation = "last generation"
	}
	out := []Fact{{Label: "login", Value: safe(s.Account, 120)}, {Label: "service", Value: safe(s.BaseURL, 120)},
		{Label: generation, Value: fmt.Sprint(s.Generation)}}
	if s.From != "" {
		out = append(out, Fact{Label: "from", Value: fmt.Sprintf("%s of %s, process %d", safe(string(s.From), 120),
			safe(s.By.Host, 120), s.By.PID)})
	}
	if !s.NextRotation.IsZero() {
		out = append(out, Fact{Label: "next refresh", Value: o.hour(s.NextRotation)})
	}
	for _, b := range []struct {
		label string
		wait  time.Duration
	}{{"next login", s.LoginWait}, {"refresh again", s.RefreshWait}} {
		if b.wait > 0 {
			out = append(out, Fact{Label: b.label, Value: "in " + Countdown(b.wait), Tone: Warn})
		}
	}
	return out
}

// SessionCounts counts the session's events since the store was created.
func SessionCounts(c session.Counts) []Fact {
	return []Fact{{Label: "successful logins", Value: fmt.Sprint(c.Logins)},
		{Label: "successful refreshes", Value: fmt.Sprint(c.Refreshes)},
		{Label: "401 answers", Value: fmt.Sprint(c.Unauthorized)}, {Label: "tokens revoked", Value: fmt.Sprint(c.Premature)}}
}

// SessionCountsLine is SessionCounts in one line.
func SessionCountsLine(c session.Counts) Fact {
	return Fact{Label: "counts", Long: true, Value: fmt.Sprintf("%s, %s, %s, %d revoked",
		format.Plural(int(c.Logins), "successful login", "successful logins"),
		format.Plural(int(c.Refreshes), "refresh", "refreshes"),
		format.Plural(int(c.Unauthorized), "401 answer", "401 answers"), c.Premature)}
}

// Session is all of a session but its history, with the name of its context, after what the verdict finds.
func Session(o Options, s session.Status, v verdict.Verdict) []Section {
	found := Findings(o, v, verdict.SessionParts()...)
	state, means := Mark{StateLook(v.Of(verdict.PartSession)), SessionState(o, s)}, safe(v.Shows(verdict.PartSession), 300)
	if len(found) > 0 { // they say what the next call meets
		means = ""
	}
	status := []Fact{{Label: "context", Value: safe(s.Context, 120)},
		{Label: "state", Value: strings.TrimSpace(state.Cell(o).Text + "  " + means), Tone: state.Tone}}
	for _, l := range SessionLives(o, s) {
		status = append(status, Fact{Label: l.Token + " token", Value: l.Line(), Tone: l.Tone})
	}
	pair := SessionPair(o, s)
	progress := Fact{Label: "refresh in progress", Value: "no"}
	if by := refreshing(s); by != "" {
		progress.Value, progress.Tone = by, Info
	}
	pair = append(pair, progress)
	use := []Fact{{Label: "processes", Value: processes(s)}}
	if l := s.Last; l != nil {
		use = append(use, Fact{Label: "last", Value: fmt.Sprintf("%s at %s: %s, %s", safe(string(l.Kind), 40), o.clock(l.At),
			wordOf(outcomeWords, l.Outcome), format.Duration(l.Took))})
	}
	for _, b := range s.Blocks {
		use = append(use, Fact{Label: "refused", Value: safe(why(b.Reason), 600), Long: true})
	}
	here := o
	here.Now = o.Now.Add(-s.Ahead)
	for _, b := range s.Borrowers {
		use = append(use, Fact{Label: "borrower", Value: inLine(here, BorrowerColumns, b), Long: true})
	}
	out := append(found, []Section{{Facts: status}, {Title: "Tokens", Facts: pair},
		{Title: "Counts", Facts: SessionCounts(s.Counts)},
		{Title: "Use", Facts: use}}...)
	if title, says, shows := SessionProblem(o, s, v); title != "" {
		var lines []string
		if says != "" {
			lines = []string{"what", says}
		}
		out = append(out, Section{Title: title, Facts: Texts(append(lines, labelled("evidence", shows)...)...)})
	}
	return out
}

// labelled puts a label before each line.
func labelled(label string, lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, label, l)
	}
	return out
}

// refreshing is the process that logs in or refreshes now; "" if none does.
func refreshing(s session.Status) string {
	if h := s.Holder; h != nil {
		return fmt.Sprintf("%s, process %d", safe(h.Host, 120), h.PID)
	}
	return ""
}

// SessionStateBy is SessionState with the process that logs in or refreshes now.
func SessionStateBy(o Options, s session.Status) string {
	if by := refreshing(s); by != "" {
		return SessionState(o, s) + ", by " + by
	}
	return SessionState(o, s)
}

// SessionProblem is the newest problem and what shows it, with a heading that says whether it is over; empty if there
// is none, or if only the verdict says it. What the verdict says now is not said again: then only the evidence is left.
func SessionProblem(o Options, s session.Status, found verdict.Verdict) (title, says string, shows []string) {
	p := verdict.Explain(s)
	over := !p.Over.IsZero()
	switch p.Cause {
	case verdict.NoPast:
		return "", "", nil
	case verdict.RotationFails, verdict.TooMany:
		if !over {
			return "", "", nil
		}
	}
	title, says = "Not resolved yet", safe(p.Full(), 600)
	if over {
		ago, _ := format.Ago(p.Over, o.Now)
		title, says = "Earlier", says+" Resolved at "+o.hour(p.Over)+" ("+ago+"). Nothing to do."
	}
	now := func(c verdict.Cause) bool {
		return slices.ContainsFunc(found.Findings, func(f verdict.Finding) bool { return f.Cause == c })
	}
	if now(verdict.Foreign) && (p.Cause == verdict.ForeignClient || p.Cause == verdict.ShorterLife) ||
		now(verdict.Unrefreshed) && p.Cause == verdict.RotationFails {
		title, says = "What shows it", ""
	}
	for _, e := range p.Evidence {
		shows = append(shows, safe(e, 600))
	}
	return title, says, shows
}

// processes is the number of processes that share a session.
func processes(s session.Status) string {
	if s.AtMost {
		return fmt.Sprintf("at most %d", s.Instances)
	}
	return fmt.Sprint(s.Instances)
}

// whys words the reasons of events and blocks.
var whys = map[string]string{
	session.ReasonFirst: "there were no tokens", session.ReasonDoubtful: "the tokens were possibly revoked",
	session.ReasonDue: "the tokens were due for a refresh", session.ReasonLapsed: "the refresh token had expired",
	session.ReasonGone:     "the process that refreshed them had ended",
	session.ReasonRollback: "the store returned to an older state", session.ReasonRefused: "the tokens were revoked",
	session.ReasonAsked: "on request", string(session.Copied): "the state folder is a copy, or was moved",
	string(session.Restored): "an older state of the store", session.OtherPair: "newer tokens had replaced these",
	session.OnItsWay: "new tokens were on the way", session.Expired: "the token had expired",
	session.YoungPair: "the tokens were new", session.Early: "before the token expired",
	session.RouteOnly: "not authorised for this route", session.BlockRefused: "login and password",
	session.BlockTwoFactor:  "a two-factor code is required",
	session.BlockUnreadable: "the answer to the login cannot be read",
}

// why is a reason in words; an unknown reason is returned unchanged.
func why(reason string) string { return cmp.Or(whys[reason], reason) }

// AskedSession is what a question about an act on the session shows.
func AskedSession(s session.Status) []Fact {
	return []Fact{{Label: "state", Value: SessionState(Options{Now: s.AsOf}, s)},
		{Label: "generation", Value: fmt.Sprint(s.Generation)},
		{Label: "processes", Value: processes(s)}}
}

// BorrowerColumns are the columns of the scripts that use a session.
var BorrowerColumns = []Column[session.Borrower]{
	textColumn("name", field.Layout{Min: 18}, func(b session.Borrower) string { return safe(b.Name, 120) }),
	textColumn("rate", field.Layout{}, func(b session.Borrower) string {
		return fmt.Sprintf("%3d a minute", b.LastMinute)
	}),
	textColumn("calls", field.Layout{Flex: 1}, func(b session.Borrower) string {
		return fmt.Sprintf("%d calls, %d waited, %d refused", b.Calls, b.Waits, b.Refused)
	}),
	textColumn("waited", field.Layout{HidePriority: 2}, func(b session.Borrower) string {
		if b.Waited <= 0 {
			return ""
		}
		return fmt.Sprintf("%.1f s waiting", b.Waited)
	}),
	textColumn("role", field.Layout{HidePriority: 1}, func(b session.Borrower) string {
		return strings.Trim(safe(b.Role, 40)+", "+safe(b.Priority, 40), ", ")
	}),
	column("last", field.Layout{}, func(o Options, b session.Borrower) Cell {
		if !b.Running {
			return Cell{Text: "ended", Tone: Dim}
		}
		ago, next := format.Ago(b.Last, o.Now)
		return Cell{Text: "last " + ago, Tone: Dim, Until: next}
	}),
}

// InstanceColumns are the columns of the processes that share a session.
var InstanceColumns = []Column[session.Instance]{
	textColumn("host", field.Layout{Min: 18}, func(i session.Instance) string { return safe(i.Owner.Host, 120) }),
	textColumn("process", field.Layout{Min: 15}, func(i session.Instance) string {
		return fmt.Sprintf("process %d", i.Owner.PID)
	}),
	textColumn("user", field.Layout{Min: 12}, func(i session.Instance) string {
		return "user " + safe(i.Owner.User, 120)
	}),
	textColumn("version", field.Layout{Min: 20, Flex: 1}, func(i session.Instance) string {
		return "version " + safe(i.Owner.Version, 120)
	}),
	column("seen", field.Layout{}, func(o Options, i session.Instance) Cell {
		if i.Gone {
			return Cell{Text: "ended", Tone: Dim}
		}
		ago, next := format.Ago(o.Now.Add(-i.Ago), o.Now)
		return Cell{Text: "seen " + ago, Tone: Dim, Until: next}
	}),
}

// SessionEventColumns are the columns of the history of a session.
var SessionEventColumns = []Column[session.Event]{
	column("at", field.Layout{}, func(o Options, e session.Event) Cell {
		return Cell{Text: o.clock(e.At), Tone: Dim}
	}),
	column("result", field.Layout{Min: 30}, func(o Options, e session.Event) Cell {
		return sessionEvent(e).Cell(o)
	}),
	textColumn("generation", field.Layout{Min: 13, HidePriority: 1}, func(e session.Event) string {
		return fmt.Sprintf("generation %d", e.Gen)
	}),
	column("why", field.Layout{Flex: 1}, func(_ Options, e session.Event) Cell {
		return Cell{Text: sessionEventWhy(e), Tone: Dim}
	}),
}

// sessionEvent is what happened to the session.
func sessionEvent(e session.Event) Mark {
	out := Mark{Look{SignInfo, Plain},
		strings.TrimSpace(wordOf(eventWords, e.Kind) + " " + wordOf(outcomeWords, e.Outcome))}
	if e.Status >= 400 {
		out.Word += fmt.Sprintf(" (%d)", e.Status)
	}
	switch {
	case e.Outcome == session.OK:
		out.Look = Look{SignGood, Good}
	case e.Outcome == session.Refused || e.Outcome == session.TwoFactor || e.Kind == session.EventBlocked ||
		e.Kind == session.EventPremature:
		out.Look = Look{SignBad, Bad}
	case e.Outcome != "" || e.Kind == session.EventUnauthorized:
		out.Look = Look{SignWarn, Warn}
	}
	return out
}

// eventWords are what happened, in the words of the screens, where the store has another one.
var eventWords = map[session.EventKind]string{session.EventUnauthorized: "call refused",
	session.EventPremature: "revoked", session.EventTakeover: "taken over", session.EventRoute: "not authorised",
	session.EventBlocked: "logins stopped", session.EventRollback: "older store", session.EventClock: "clock changed",
	session.EventFenced: "arrived too late"}

// outcomeWords are how a login or refresh ended, behind its name.
var outcomeWords = map[session.Outcome]string{session.NotSent: "not sent", session.Unknown: "unanswered",
	session.Unreadable: "not readable", session.TwoFactor: "needs a code", session.Fenced: "too late",
	session.NoSlot: "not sent: no budget", session.Aborted: "stopped"}

// wordOf is the word of a code of the store, which is its own if there is no other.
func wordOf[T ~string](words map[T]string, code T) string {
	return cmp.Or(words[code], safe(string(code), 120))
}

// sessionEventWhy is why it happened, how long it took, and to which process.
func sessionEventWhy(e session.Event) string {
	reason := safe(why(e.Reason), 600)
	switch {
	case reason == "":
	case e.Kind == session.EventBlocked:
		reason = "the service refused: " + reason
	case e.Kind == session.EventPremature: // the reason is how they were obtained
		reason = "before they expired; obtained by a " + reason
	case (e.Kind == session.EventLogin || e.Kind == session.EventRefresh) && e.Reason != session.ReasonAsked:
		reason = "because " + reason
	}
	why := []string{reason, safe(e.Detail, 600)}
	if e.Took >= time.Millisecond {
		why = append(why, format.Duration(e.Took))
	}
	why = slices.DeleteFunc(why, func(s string) bool { return s == "" })
	return strings.TrimSpace(strings.Join(why, "; ") + "  " + fmt.Sprintf("%s/%d", safe(e.Owner.Host, 120), e.Owner.PID))
}

// Countdown is a length of time to the second: "2m 30s".
func Countdown(d time.Duration) string { return format.Duration(d.Round(time.Second)) }

// hour is the time of day with its zone.
func (o Options) hour(t time.Time) string {
	if o.Zone == nil {
		return format.Time(t, nil)
	}
	return format.Clock(t, o.Zone) + " " + t.In(o.Zone).Format("MST")
}

// clock is the time of day, with the date if the reader's zone is not known.
func (o Options) clock(t time.Time) string {
	if o.Zone == nil {
		return format.Time(t, nil)
	}
	return format.Clock(t, o.Zone)
}

// Budget is the usage of a class of calls.
type Budget struct {
	limit.Usage
	Read time.Duration // the age of the usage
}

// Budgets returns budgets of usages read ago earlier.
func Budgets(list []limit.Usage, ago time.Duration) []Budget {
	out := make([]Budget, len(list))
	for i, u := range list {
		out[i] = Budget{u, ago}
	}
	return out
}

// BudgetColumns are the columns of a list of budgets.
var BudgetColumns = []Column[Budget]{
	textColumn("class", field.Layout{}, Budget.class),
	NumberColumn("per minute", field.Layout{}, func(b Budget) int64 { return int64(b.Recommended) }),
	NumberColumn("used", field.Layout{}, func(b Budget) int64 { return int64(b.Used) }),
	NumberColumn("room", field.Layout{Title: "left"}, func(b Budget) int64 { return int64(b.Room) }),
	exactly(rightColumn("next slot", field.Layout{Title: "next call"}, func(_ Options, b Budget) Cell {
		if left := b.slot(); left > 0 {
			return Cell{Text: lasts(left)}
		}
		return Cell{Text: "now"}
	}), func(b Budget) string {
		if b.NextSlot > 0 {
			return fmt.Sprintf("%.1f s", b.NextSlot)
		}
		return "now"
	}),
	NumberColumn("throttled", field.Layout{Title: "429 (1 h)"}, func(b Budget) int64 { return int64(b.Throttled) }),
	NumberColumn("waiting", field.Layout{}, func(b Budget) int64 { return int64(b.Waiting) }),
}

// Held reports whether no call is sent because the service asked to wait.
func (b Budget) Held() bool { return b.left(b.Blocked) > 0 }

// class is the name of the class.
func (b Budget) class() string { return safe(string(b.Class), 20) }

// Look is bad if calls are throttled or exceeded the rate, and a warning if the next call waits. A budget of one call
// a minute is full after each call, which matters only when another call waits.
func (b Budget) Look() Look {
	switch {
	case b.left(b.Blocked) > 0 || b.Over > 0 || b.Throttled > 0:
		return Look{SignBad, Bad}
	case b.Room == 0 && (b.Recommended > 1 || b.Waiting > 0):
		return Look{SignWarn, Warn}
	}
	return Look{SignGood, Good}
}

// RowLook is Look in a list, which also marks a budget of which two thirds are used.
func (b Budget) RowLook() Look {
	if look := b.Look(); look.Tone != Good || b.Recommended <= 1 || b.Used*3 < b.Recommended*2 {
		return look
	}
	return Look{SignWait, Warn}
}

// Line is the budget in a sentence, for output without columns.
func (b Budget) Line() string {
	out := fmt.Sprintf("%s: %d of %d used in the last minute, %d left", b.class(), b.Used, b.Recommended, b.Room)
	if b.Waiting > 0 {
		out += fmt.Sprintf(", %d waiting", b.Waiting)
	}
	if b.Throttled > 0 {
		out += fmt.Sprintf(", %d answers 429", b.Throttled)
	}
	return out + "."
}

// BudgetNotes say which calls wait, and why numbers do not add up to the rate.
func BudgetNotes(list []Budget) []string {
	var out []string
	for _, b := range list {
		if held := b.held(); held != "" {
			out = append(out, held+"."+b.usedBy())
		}
	}
	return append(out, BudgetSums(list)...)
}

// BudgetSums say which calls exceeded the rate, and why numbers do not add up to it.
func BudgetSums(list []Budget) []string {
	var out []string
	for _, b := range list {
		if b.Over > 0 {
			out = append(out, b.over()+"."+b.usedBy())
		}
		if sum := b.Sum(); sum != "" {
			out = append(out, sum)
		}
	}
	return out
}

func (b Budget) over() string {
	return fmt.Sprintf("%s: %d calls in the last minute exceeded the recommended rate", b.class(), b.Over)
}

// usedBy names those who used the budget, most calls first.
func (b Budget) usedBy() string {
	var out []string
	for _, u := range b.Users[:min(len(b.Users), 3)] {
		out = append(out, fmt.Sprintf("%s (%d)", safe(u.Who, 100), u.Calls))
	}
	if len(out) == 0 {
		return ""
	}
	return " Used by " + strings.Join(out, ", ") + "."
}

// held says that a class has no room, and until when; "" if it has.
func (b Budget) held() string {
	switch {
	case b.left(b.Blocked) > 0:
		return fmt.Sprintf("%s: the service asked all clients to wait; the next call is sent in %s", b.class(),
			lasts(b.left(b.Blocked)))
	case b.Room == 0 && b.slot() > 0 && b.Warns:
		return b.class() + ": used up; further calls are sent at once and marked (policy warn)"
	case b.Room == 0 && b.slot() > 0:
		return fmt.Sprintf("%s: used up; the next call is sent in %s", b.class(), lasts(b.slot()))
	}
	return ""
}

// slot is the time to the next slot.
func (b Budget) slot() time.Duration {
	if b.NextSlot <= 0 {
		return 0
	}
	return b.left(time.Duration(b.NextSlot * float64(time.Second)))
}

// left is what remains of a time that was reported with the usage, in whole seconds, rounded up: the last one is
// "1s".
func (b Budget) left(d time.Duration) time.Duration {
	return max((d - b.Read + time.Second - 1).Truncate(time.Second), 0)
}

// lasts formats a time until an event.
func lasts(d time.Duration) string {
	out, _ := format.Until(time.Unix(0, 0).Add(d), time.Unix(0, 0))
	return out
}

// ConnectedColumns are the columns of the people who have a console open.
var ConnectedColumns = []Column[presence.Place]{
	textColumn("person", field.Layout{Min: 12}, func(p presence.Place) string { return safe(p.Person, 60) }),
	textColumn("host", field.Layout{Min: 12}, func(p presence.Place) string { return safe(p.Host, 120) }),
	textColumn("at", field.Layout{Min: 30, Flex: 1}, func(p presence.Place) string {
		at := safe(p.Object, 40)
		if p.ID != "" {
			at += " " + safe(p.ID, 128)
		}
		if p.Dialog {
			at += ", before a write"
		}
		return at
	}),
	column("since", field.Layout{}, func(o Options, p presence.Place) Cell {
		ago, next := format.Ago(p.Since, o.Now)
		return Cell{Text: "since " + ago, Tone: Dim, Until: next}
	}),
}
