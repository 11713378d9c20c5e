package spoken

import (
	"context"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/followup"
	"opdeck/ui/plain"
)

// news is what was told already of things that happen by themselves. They are
// looked at before each prompt, so that nothing is said in the middle of one.
type news struct {
	version  int64
	requests map[string]approval.State
	seq      int64 // of the session's history
	state    string
	warning  string
	company  string

	mu      sync.Mutex
	settled []followup.Settled // guarded by mu: not told yet
}

// announcements are what the service announced of its calls and nobody was told
// yet; its methods may be called from many goroutines.
type announcements struct {
	mu   sync.Mutex
	said []string // guarded by mu
}

func (a *announcements) add(op, said string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, api.Announcement(op, said))
}

func (a *announcements) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.said
	a.said = nil
	return out
}

const lookFor = 2 * time.Second // a store that hangs holds no prompt up for longer

func (n *news) begin(ctx context.Context, c *console) {
	n.requests = map[string]approval.State{}
	n.version = -1
	if st, err := c.app.SessionStatus(ctx); err == nil {
		n.state, n.warning = st.State, st.Warning
		if h := st.History; len(h) > 0 {
			n.seq = h[len(h)-1].Seq
		}
		if st.Warning != "" {
			c.talk.Say("News. The session: " + sentence(st.Warning))
		}
	}
}

// before says what happened since the last prompt.
func (c *console) before(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	for _, said := range c.announcements.take() {
		c.talk.Say("News. " + said)
	}
	c.requestNews(ctx)
	c.settledNews()
	c.sessionNews(ctx)
	c.at(ctx, false)
	c.companyNews(ctx)
}

// took keeps an outcome that was found later until the next prompt.
func (n *news) took(s followup.Settled) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settled = append(n.settled, s)
}

// settledNews tells what became of this person's writes whose outcome was not
// known.
func (c *console) settledNews() {
	c.news.mu.Lock()
	list := c.news.settled
	c.news.settled = nil
	c.news.mu.Unlock()
	for _, s := range list {
		if approval.SameName(s.Row.Who, c.who.Name) {
			c.talk.Say("News. " + sentence(untrusted.Text(s.Sentence()+" "+remedy.Spoken(&api.Error{Remedy: s.Advice()})).Line(300)))
		}
	}
}

// requestNews tells of new requests of others, and of what became of our own.
func (c *console) requestNews(ctx context.Context) {
	n := &c.news
	v, err := c.app.Approvals.Version(ctx)
	if err != nil || v == n.version {
		return
	}
	list, err := c.app.Approvals.List(ctx)
	if err != nil {
		return
	}
	first := n.version == -1
	n.version = v
	for i := len(list) - 1; i >= 0; i-- { // oldest first
		r := list[i]
		before, seen := n.requests[r.ID]
		n.requests[r.ID] = r.State
		if s := c.requestLine(r, first); s != "" && (!seen || before != r.State) {
			c.talk.Say("News. " + s)
		}
	}
}

func (c *console) requestLine(r approval.Request, first bool) string {
	mine := approval.Asked(c.who, r)
	what := sentence(untrusted.Text(r.Act.Summary).Line(300))
	by := "Somebody"
	if r.Decider != nil {
		by = untrusted.Text(r.Decider.Name).Line(60)
	}
	switch {
	case r.State == approval.Open && approval.Bars(c.who, r.Requester) == nil && c.who.Role.May(api.MayApprove):
		return untrusted.Text(r.Requester.Name).Line(60) + " asks for a second person, request " + r.ID + ": " + what + " Approvals shows it."
	case first || !mine:
		return ""
	case r.State == approval.Approved:
		return by + " approved: " + what + " Do it again to send it."
	case r.State == approval.Denied:
		return by + " denied: " + what + " " + sentence(untrusted.Text(r.Comment).Line(300))
	case r.State == approval.Lapsed:
		return "Nobody approved in time: " + what
	}
	return ""
}

// sessionNews tells of a session that died, is blocked or cannot be renewed.
// Rotations that go well are not worth a word.
func (c *console) sessionNews(ctx context.Context) {
	n := &c.news
	st, err := c.app.SessionStatus(ctx)
	if err != nil {
		if n.state != "unknown" {
			n.state = "unknown"
			c.talk.Say("News. The state of the session cannot be read: the store does not answer.")
		}
		return
	}
	died := false
	for _, e := range st.History {
		if e.Seq > n.seq {
			n.seq = e.Seq
			died = died || e.Kind == session.EventPremature || e.Kind == session.EventBlocked || e.Kind == session.EventRollback
		}
	}
	switch {
	case st.Warning != "" && st.Warning != n.warning:
		c.talk.Say("News. The session: " + sentence(st.Warning))
	case died && st.Verdict.Sentence != "":
		c.talk.Say("News. The session died before its time: " + sentence(st.Verdict.Sentence))
	case st.State != n.state && (st.State == "blocked" || st.State == "doubtful"):
		c.talk.Say("News. The session is " + st.State + ". Session tells more.")
	case st.Warning == "" && n.warning != "" || n.state == "blocked" && st.State == "live":
		c.talk.Say("News. The session is well again.")
	}
	n.state, n.warning = st.State, st.Warning
}

// enter notes for other consoles which object the person looks at; the returned
// function goes back to the one before.
func (c *console) enter(object, id string) (leave func()) {
	was, wasID := c.object, c.id
	c.object, c.id, c.news.company = object, id, ""
	return func() { c.object, c.id, c.news.company = was, wasID, "" }
}

// at writes where the person is. It is a courtesy: trouble is left to those whose
// work it stops.
func (c *console) at(ctx context.Context, asking bool) {
	if c.object == "" {
		_ = c.board.Leave(ctx)
		return
	}
	_ = c.board.Here(ctx, c.object, c.id, asking)
}

func (c *console) gone() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.board.Leave(ctx)
}

// companyNews tells who else is here, when that changed.
func (c *console) companyNews(ctx context.Context) {
	if c.object == "" {
		return
	}
	others, err := c.board.Others(ctx, c.object, c.id)
	if err != nil {
		return
	}
	var names []string
	for _, o := range others {
		name := untrusted.Text(o.Person).Line(60)
		if o.Dialog {
			name += ", who is being asked about a write,"
		}
		names = append(names, name)
	}
	said := plain.List(names)
	if said == c.news.company {
		return
	}
	c.news.company = said
	switch len(names) {
	case 0:
		c.talk.Say("News. You are alone at this " + c.object + " now.")
	case 1:
		c.talk.Say("News. " + said + " is at this " + c.object + " too.")
	default:
		c.talk.Say("News. " + said + " are at this " + c.object + " too.")
	}
}
