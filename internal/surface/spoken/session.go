package spoken

import (
	"context"
	"slices"
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/ui/plain"
)

// session is the shared session: lifetimes, history, and the acts on it.
func (c *console) session(ctx context.Context) error {
	may := func() string { return c.mayNot(api.MaySession) }
	return c.talk.Menu(ctx, plain.Menu{Name: "Session", Intro: c.saySession, Commands: []plain.Command{
		{Name: "history", Help: "says the rotations and troubles, newest first.", Do: c.sessionHistory},
		{Name: "instances", Help: "says which consoles and commands share the session.", Do: c.instances},
		{Name: "refresh", Help: "renews the token pair now, after a question.", Why: may, Do: c.sessionAct(sessionActs[0])},
		{Name: "login", Help: "logs in anew, after a question.", Why: may, Do: c.sessionAct(sessionActs[1])},
		{Name: "reset", Help: "forgets the session and what blocks it, after a question.", Why: may, Do: c.sessionAct(sessionActs[2])},
		{Name: "reload", Alias: []string{"r"}, Help: "says how it stands now; costs no call.", Do: func(ctx context.Context, _ string) error { return c.saySession(ctx) }},
	}})
}

// sessionLine is the session in a sentence or two.
func sessionLine(st session.Status) string {
	s := "The session is " + st.State + "."
	if !st.Access.ExpiresAt.IsZero() {
		s += " The access token has " + plain.Span(st.Access.Remaining) + " of " + plain.Span(st.Access.TTL) + " left."
	}
	if st.Warning != "" {
		s += " Attention: " + sentence(st.Warning)
	}
	return s
}

func (c *console) saySession(ctx context.Context) error {
	st, err := c.app.SessionStatus(ctx)
	if err != nil {
		return c.failed(ctx, "The session", err)
	}
	c.talk.Say(sessionLine(st), "Account: "+fromOutside(st.Account).Line(100), "Service: "+fromOutside(st.BaseURL).Line(200),
		life("Access token", st.Access), life("Refresh token", st.Refresh))
	if !st.NextRotation.IsZero() {
		c.talk.Say("Next renewal at " + c.clock(st.NextRotation) + ", by whoever calls first.")
	}
	if h := st.Holder; h != nil {
		c.talk.Say("Being renewed right now by " + owner(*h) + ".")
	}
	for _, w := range []struct {
		what string
		wait time.Duration
	}{{"Logins", st.LoginWait}, {"Refreshes", st.RefreshWait}} {
		if w.wait > 0 {
			c.talk.Say(w.what + " wait " + plain.Span(w.wait) + ".")
		}
	}
	if st.Generation > 0 {
		c.talk.Say("Token pair number " + strconv.FormatInt(st.Generation, 10) + ", made by a " + string(st.From) + " of " + owner(st.By) + ".")
	}
	n := st.Counts
	c.talk.Say(plain.Number(n.Logins, "login") + ", " + plural(int(n.Refreshes), "refresh", "refreshes") + ", " + plain.Number(n.Unauthorized, "401 answer") +
		", " + plain.Number(n.Premature, "early death") + ". " + plural(st.Instances, "instance shares", "instances share") + " it.")
	if v := st.Verdict; v.Sentence != "" {
		c.talk.Say("Last trouble, " + plain.Ago(v.At, c.app.Now()) + ": " + sentence(v.Sentence) + yesNo(v.Healed, " It was healed.", ""))
	}
	return nil
}

func owner(o session.Owner) string {
	return fromOutside(o.Host).Line(60) + ", process " + strconv.Itoa(o.PID)
}

func life(what string, l session.Lifetime) string {
	if l.ExpiresAt.IsZero() {
		return what + ": none"
	}
	return what + ": " + plain.Span(l.Remaining) + " of " + plain.Span(l.TTL) + " left"
}

func (c *console) sessionHistory(ctx context.Context, _ string) error {
	st, err := c.app.SessionStatus(ctx)
	if err != nil {
		return c.failed(ctx, "The history", err)
	}
	const most = 20
	h := st.History
	c.talk.Say("History, the last " + plural(min(len(h), most), "entry", "entries") + ", newest first.")
	for i, e := range slices.Backward(h) {
		if len(h)-i > most {
			break
		}
		s := c.moment(e.At) + ": " + string(e.Kind)
		if e.Outcome != "" {
			s += ", " + string(e.Outcome)
		}
		for _, part := range []string{e.Reason, e.Detail} {
			if part != "" {
				s += ", " + fromOutside(part).Line(200)
			}
		}
		if e.Status > 0 {
			s += ", status " + strconv.Itoa(e.Status)
		}
		c.talk.Say(s + ", pair " + strconv.FormatInt(e.Gen, 10) + ", by " + owner(e.Owner) + ".")
	}
	return nil
}

func (c *console) instances(ctx context.Context, _ string) error {
	st, err := c.app.SessionStatus(ctx)
	if err != nil {
		return c.failed(ctx, "The instances", err)
	}
	c.talk.Say(plural(len(st.Seen), "instance was", "instances were") + " seen within a day.")
	for _, i := range st.Seen[:min(len(st.Seen), 20)] {
		c.talk.Say(owner(i.Owner) + ", of " + fromOutside(i.Owner.User).Line(60) + ", seen " + plain.Ago(c.app.Now().Add(-i.Ago), c.app.Now()) + ".")
	}
	return nil
}

// sessionDeed is an act on the session with what it costs.
type sessionDeed struct {
	name, ask, cost, doing, done string
	do                           func(*console, context.Context) error
}

var sessionActs = [...]sessionDeed{
	{"Refresh", "Refresh the token pair now?",
		"It costs the one refresh that is recommended per minute. Every other client of this account, ours excepted, loses its session.",
		"renewing the token pair", "Done. The pair was refreshed.", func(c *console, ctx context.Context) error { return c.app.RefreshSession(ctx) }},
	{"Login", "Log in anew?",
		"It costs one of six logins recommended per minute. Access tokens issued before end at once; ours is replaced for all instances.",
		"logging in", "Done. Logged in anew.", func(c *console, ctx context.Context) error { return c.app.LoginSession(ctx) }},
	{"Reset", "Forget the session and what blocks it?",
		"It sends nothing now: the stored pair is erased, refused passwords are forgiven, and the next call logs in.",
		"forgetting the session", "Done. The session was reset; the next call logs in.", func(c *console, ctx context.Context) error { return c.app.ResetSession(ctx) }},
}

func (c *console) sessionAct(d sessionDeed) func(context.Context, string) error {
	return func(ctx context.Context, _ string) error {
		st, err := c.app.SessionStatus(ctx)
		if err != nil {
			return c.failed(ctx, d.name, err)
		}
		done, err := c.write(ctx, plain.Question{Ask: d.ask, Risk: d.cost, Deed: d.name, ID: st.Account, IDLabel: "account",
			Facts: []plain.Pair{{Label: "Account", Value: fromOutside(st.Account).Line(100)}, {Label: "State", Value: st.State},
				{Label: "Instances that share it", Value: st.InstancesText()}}},
			d.name, d.doing, func(ctx context.Context) error { return d.do(c, ctx) })
		if err != nil || !done {
			return err
		}
		c.talk.Say(d.done)
		return c.saySession(ctx)
	}
}

// limits is the budgets.
func (c *console) limits(ctx context.Context) error {
	return c.talk.Menu(ctx, plain.Menu{Name: "Limits", Intro: c.sayLimits, Commands: []plain.Command{
		{Name: "reload", Alias: []string{"r"}, Help: "says how they stand now; costs no call.", Do: func(ctx context.Context, _ string) error { return c.sayLimits(ctx) }},
	}})
}

func (c *console) sayLimits(ctx context.Context) error {
	usage, err := c.app.Usage(ctx)
	if err != nil {
		return c.failed(ctx, "The budgets", err)
	}
	c.talk.Say("Calls in the last minute, all consoles, commands and hosts that share this store together.")
	for _, u := range usage {
		c.talk.Say(usageLine(u))
	}
	if c.app.Config.Limits.Policy == "warn" {
		c.talk.Say("Policy warn: calls beyond the recommended rate are sent and marked; the service may answer 429.")
	} else {
		c.talk.Say("Policy wait: calls are held to the recommended rate; people's calls go before background work.")
	}
	return nil
}

func usageLine(u limit.Usage) string {
	s := string(u.Class) + ": " + strconv.Itoa(u.Used) + " of " + strconv.Itoa(u.Recommended) + " used, room for " + strconv.Itoa(u.Room)
	switch {
	case u.Blocked > 0:
		s += ". The service asked everybody to wait; the next call goes in " + plain.Span(u.Blocked)
	case u.NextSlot > 0:
		s += ". The next call waits " + plain.Span(time.Duration(u.NextSlot*float64(time.Second)))
	}
	if u.Over > 0 {
		s += ". " + plural(u.Over, "call", "calls") + " went beyond the recommendation"
	}
	if u.Waiting > 0 {
		s += ". " + plural(u.Waiting, "call waits", "calls wait")
	}
	if u.Throttled > 0 {
		s += ". " + plural(u.Throttled, "answer", "answers") + " 429 in the last hour"
	}
	return s + "."
}
